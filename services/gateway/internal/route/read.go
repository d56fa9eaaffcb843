package route

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// get shows a job as the scheduler folds it, or as it was saved if no scheduler answers or the answer does not fit into a message.
func get(c *call) error {
	body, err := c.ask("get", c.in)
	var fault *events.Fault
	large := errors.As(err, &fault) && fault.Code == events.CodeTooLarge
	if large || errors.Is(err, bus.ErrUnavailable) {
		saved, other := c.gateway.Client.State(c.r.Context(), c.text("id"))
		if other == nil {
			body, err = saved, nil
		}
	}
	if err != nil {
		return err
	}
	c.give(body)
	return nil
}

// planOf shows the plan of a job with the results of its steps.
func planOf(c *call) error {
	log, err := c.gateway.Client.Logs().Fold(c.r.Context(), c.text("id"), 0)
	if err != nil {
		return err
	}
	p := log.Executed()
	if p == nil {
		return &events.Fault{Code: events.CodeNotFound, Field: "id", Message: "the job has no plan yet", Hint: "GET /api/v1/jobs/" + c.text("id") + "/why"}
	}
	return c.reply(verb.PlanOf{JobID: c.text("id"), Plan: p})
}

func briefOf(c *call) error {
	if c.text("subjob") == "" {
		return &events.Fault{Code: events.CodeMissing, Field: "subjob", Message: "no SubJob is named", Hint: "GET /api/v1/jobs/" + c.text("id") + "/graph lists them"}
	}
	b, err := c.gateway.Client.Logs().Brief(c.r.Context(), c.text("id"), c.text("subjob"))
	if err != nil {
		return err
	}
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return c.reply(verb.BriefOf{JobID: c.text("id"), Brief: text})
}

// diff compares a job with another one.
func diff(c *call) error {
	d, err := c.gateway.Client.Diff(c.r.Context(), c.text("id"), c.text("with"))
	if err != nil {
		return err
	}
	out := verb.Difference{Same: d.Same(), SubJobs: []json.RawMessage{}}
	for _, part := range []struct {
		into *json.RawMessage
		from any
	}{{&out.A, d.A}, {&out.B, d.B}, {&out.Plan, d.Plan}} {
		if *part.into, err = json.Marshal(part.from); err != nil {
			return err
		}
	}
	for _, s := range d.SubJobs {
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		out.SubJobs = append(out.SubJobs, text)
	}
	return c.reply(out)
}

func experts(c *call) error {
	list, err := c.gateway.Client.Experts().List(c.r.Context())
	if err != nil {
		return err
	}
	if list == nil {
		list = []events.Card{}
	}
	return c.reply(verb.ExpertList{Experts: list})
}

// runs lists the runs of all runners.
func runs(c *call) error {
	var q verb.RunQuery
	if err := c.into(&q); err != nil {
		return err
	}
	list, err := client.SupplyOf(c.gateway.Client).Runs(c.r.Context(), q)
	if err != nil {
		return err
	}
	return c.reply(list)
}

func runners(c *call) error {
	list, err := client.SupplyOf(c.gateway.Client).Runners(c.r.Context())
	if err != nil {
		return err
	}
	return c.reply(verb.RunnerList{Runners: list})
}

func letters(c *call) error {
	list, err := c.gateway.Client.DeadLetters().List(c.r.Context())
	if err != nil {
		return err
	}
	out := verb.LetterList{Letters: []verb.Letter{}}
	for _, d := range list {
		out.Letters = append(out.Letters, verb.Letter{ID: d.ID, Kind: d.Kind, Since: d.Since, Fault: d.Fault, Faults: d.Faults, Subject: d.Subject, Body: d.Body})
	}
	return c.reply(out)
}

func letter(c *call) error {
	d, err := c.gateway.Client.DeadLetters().Get(c.r.Context(), c.text("id"))
	if err != nil {
		return err
	}
	return c.reply(verb.Letter{ID: d.ID, Kind: d.Kind, Since: d.Since, Fault: d.Fault, Faults: d.Faults, Subject: d.Subject, Body: d.Body})
}

func retryLetter(c *call) error {
	body, err := c.ask(c.verb.Name, c.in)
	if err != nil {
		return err
	}
	var out verb.Retried
	if err := json.Unmarshal(body, &out); err != nil {
		return err
	}
	c.made = out.JobID
	c.give(body)
	return nil
}

// health says whether this process is ready, whether jobs are admitted, and how many instances of each service answer.
func health(c *call) error {
	ctx := c.r.Context()
	out := verb.HealthReport{Reasons: []verb.HealthReason{}, Services: map[string]int{}}
	for _, r := range c.gateway.Health(ctx) {
		out.Reasons = append(out.Reasons, verb.HealthReason{Name: r.Name, Text: r.Reason})
	}
	ctx, cancel := context.WithTimeout(ctx, healthBound)
	defer cancel()
	services := []release.Service{release.Scheduler, release.Planner, release.Gateway, release.Runner}
	there, errs := make([]int, len(services)), make([]error, len(services))
	var all sync.WaitGroup
	for i, service := range services {
		all.Go(func() {
			errs[i] = c.gateway.Client.Bus().Services().Peers(ctx, string(service), func(bus.Peer) { there[i]++ })
		})
	}
	all.Go(func() { out.Notes = c.gateway.notes(ctx) })
	all.Wait()
	for i, service := range services {
		switch err := errs[i]; {
		case err == nil, errors.Is(err, bus.ErrNobody):
			out.Services[strings.TrimPrefix(string(service), "jobgraph-")] = there[i]
		case !errors.Is(err, bus.ErrUnavailable):
			return err
		case !slices.ContainsFunc(out.Reasons, ofBus):
			out.Reasons = append(out.Reasons, verb.HealthReason{Name: "bus", Text: "it does not answer: " + err.Error()})
		}
	}
	out.Ready = len(out.Reasons) == 0
	return c.reply(out)
}

// ofBus reports whether a reason says that the bus is unreachable.
func ofBus(r verb.HealthReason) bool { return strings.HasSuffix(r.Name, "bus") }

// healthBound limits the questions to the services: a bus that does not answer is an answer, too.
const healthBound = 2 * time.Second

// notes returns the notes of this process, and the reason why the scheduler admits no jobs if it admits none.
func (g *Gateway) notes(ctx context.Context) (list []verb.HealthReason) {
	const admission = "admission" // A scheduler in the same process has a note with this name, which is enough.
	if g.Notes != nil {
		for _, n := range g.Notes() {
			list = append(list, verb.HealthReason{Name: n.Name, Text: n.Reason})
		}
	}
	if slices.ContainsFunc(list, func(n verb.HealthReason) bool { return n.Name == admission }) {
		return list
	}
	if closed, err := client.SupplyOf(g.Client).Admission(ctx); err == nil && closed != nil { // The services show a missing answer.
		list = append(list, verb.HealthReason{Name: admission, Text: closed.Message + ": " + closed.Cause})
	}
	return list
}
