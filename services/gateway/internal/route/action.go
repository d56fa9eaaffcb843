package route

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// The verbs that act on a job, and on a SubJob.
var (
	jobActions    = []string{"stop", "fail", "recover", "edit", "fork", "delete"}
	subjobActions = []string{"stop", "fail", "retry", "rerun", "fork"}
)

// actionsOf lists the possible actions on a job or SubJob.
func actionsOf(c *call) error {
	log, err := c.gateway.Client.Logs().Fold(c.r.Context(), c.text("id"), 0)
	if err != nil {
		return err
	}
	subjob := c.text("subjob")
	if subjob != "" && log.Node(subjob) == nil {
		return &events.Fault{Code: events.CodeNotFound, Field: "subjob", Message: "job " + log.Job.ID + " has no SubJob " + clip(subjob), Hint: "GET /api/v1/jobs/" + log.Job.ID + "/graph lists them"}
	}
	return c.reply(verb.Actions{Actions: c.actions(log, subjob)})
}

// actions returns the actions in the table of verbs, with whether roles and state allow them.
func (c *call) actions(log *joblog.Log, subjob string) []verb.Action {
	names := jobActions
	if subjob != "" {
		names = subjobActions
	}
	list := []verb.Action{}
	first := log.Request()
	for _, name := range names {
		v, ok := verb.Find(name)
		if !ok {
			continue
		}
		a := verb.Action{Verb: name, About: v.About, Effect: v.Effect, Permitted: v.Permits(c.who.Roles) || v.MayUse(c.who.Roles) && first != nil && c.mine(&first.Request), Method: v.Method, Path: strings.ReplaceAll(v.Path, "{id}", log.Job.ID), Input: map[string]any{}}
		switch {
		case subjob != "" && name == "fork":
			a.Input["before"] = subjob
		case subjob != "":
			a.Input["subjob"] = subjob
		}
		a.CLI = command(v.CLI, log.Job.ID, subjob)
		if v.On != "" {
			a.NATS = request(c.gateway.Client.Names().API(name), log.Job.ID, a.Input)
		}
		a.Reason = impossible(name, log, subjob)
		a.Possible = a.Reason == ""
		list = append(list, a)
	}
	return list
}

// command fills in a command line of the table for a job or SubJob.
func command(template, job, subjob string) string {
	at := job
	if subjob != "" {
		at += "/" + subjob
	} else {
		template, _, _ = strings.Cut(template, " --before ")
	}
	return strings.NewReplacer("{id}", job, "{at}", at, "{subjob}", subjob).Replace(template)
}

// request returns a command line that sends the request over the bus.
func request(subject, job string, input map[string]any) string {
	body := map[string]any{"id": job}
	for name, value := range input {
		body[name] = value
	}
	text, err := json.Marshal(body)
	if err != nil {
		return ""
	}
	return "nats req " + subject + " '" + strings.ReplaceAll(string(text), "'", `'\''`) + "'"
}

// impossible says why the state of a job does not allow a verb; empty if it does. The scheduler checks again when the verb is used.
func impossible(name string, log *joblog.Log, subjob string) string {
	job := log.Job
	status := string(job.Status)
	n := log.Node(subjob) // nil for the job itself.
	if n != nil {
		status = string(n.Status)
	}
	ended := job.Status.Terminal()
	switch name {
	case "stop", "fail":
		if ended {
			return "the job is " + string(job.Status)
		}
		if n != nil && (n.Status.Terminal() || n.Status == events.Legacy) {
			return "the SubJob is " + status
		}
	case "recover":
		if job.Status != events.Failed && job.Status != events.Stopped {
			return "only a FAILED or STOPPED job can continue; this one is " + status
		}
	case "delete":
		if !ended {
			return "the job is " + status + "; stop it first"
		}
	case "edit":
		if ended || job.PlanVersion == 0 {
			return "the job is " + status + ", or has no plan yet"
		}
	case "retry":
		if n.Status != events.Failed && n.Status != events.Stopped {
			return "only a FAILED or STOPPED SubJob can be retried; this one is " + status
		}
	case "rerun":
		if n.Run == 0 || !joblog.InGraph(n) {
			return "it has not run yet, or is no longer part of the plan"
		}
	case "fork":
		if job.PlanVersion == 0 || n != nil && !joblog.InGraph(n) {
			return "there is no plan yet, or the SubJob is no longer part of it"
		}
	}
	return ""
}
