package jobtest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// factKey returns the last token of a fact's subject: what follows "~" in the command's key.
func factKey(c graph.Command) string {
	_, key, _ := strings.Cut(c.Key, "~")
	return key
}

// work passes a run to its planner or expert and queues the answer.
func (g *engine) work(c graph.Command) {
	w := g.message(c)
	switch w.Kind {
	case events.WorkPlan, events.WorkReplan, events.WorkSplit:
		g.plan(w)
		return
	}
	expert := g.script.Experts[w.Spec.Expert]
	if expert == nil {
		expert = g.script.Default
	}
	if expert == nil {
		g.err = fmt.Errorf("%w for %q of SubJob %s", ErrNobody, w.Spec.Expert, w.SubJob)
		return
	}
	report := expert(w)
	g.runs = append(g.runs, Run{SubJob: w.SubJob, Run: w.Run, Expert: w.Spec.Expert, Outcome: report.Outcome, At: g.now.Sub(g.start)})
	took := time.Duration(report.DurationMS) * time.Millisecond
	report.Started = g.now
	run := runName(w.SubJob, w.Run)
	if took > 50*time.Millisecond {
		started := &events.SubJobStarted{Owner: source, Started: g.now}
		g.later(g.now.Add(50*time.Millisecond), run, events.Event{Kind: events.KindSubJobStarted, SubJob: w.SubJob, Run: w.Run, Data: started})
	}
	g.later(g.now.Add(took), run, events.Event{Kind: events.KindSubJobReported, SubJob: w.SubJob, Run: w.Run, Data: &report})
}

func (g *engine) plan(w events.Work) {
	g.plans++
	plan, err := g.script.Plan, error(nil)
	if plan == nil || w.Kind != events.WorkPlan || g.plans > 1 {
		plan, err = nil, &events.Fault{Code: events.CodeNoPlanner, Message: "the script has no planner"}
		if g.script.Planner != nil {
			plan, err = g.script.Planner(w)
		}
	}
	e := events.Event{Kind: events.KindGraphCreated, SubJob: w.SubJob, Run: w.Run, Data: &events.GraphCreated{PlanVersion: w.PlanVersion, Plan: plan}}
	if err != nil {
		fault := events.Fault{Code: events.CodeRejected, Message: err.Error()}
		var own *events.Fault
		if errors.As(err, &own) {
			fault = *own
		}
		e.Kind, e.Data = events.KindPlanRejected, &events.PlanRejected{Faults: events.Faults{fault}}
	}
	g.later(g.now, runName(w.SubJob, w.Run), e)
}

// message resolves the references of a work command, as the scheduler does.
func (g *engine) message(c graph.Command) events.Work {
	o := c.Order
	spec, _ := g.log.Text(o.Spec)
	if spec.Expert == "" {
		spec.Expert = o.Expert
	}
	request := &g.request
	w := events.Work{
		Kind: o.Kind, Job: g.log.Job.ID, SubJob: c.SubJob, Run: c.Run, Attempt: o.Attempt, ResumeOf: o.ResumeOf,
		Spec: spec, Goal: spec.Goal, Context: spec.Context, CompletionCriteria: spec.CompletionCriteria,
		Inputs: request.Inputs, Results: map[string]events.Result{}, Answers: map[string]events.InputClosed{},
		Select: o.Select, LifeCycle: o.LifeCycle, Deadline: o.Deadline, PlanVersion: o.PlanVersion, Finished: o.Finished,
		Request: request, IdempotencyKey: run.ID(g.log.Job.ID, c.SubJob, c.Run),
		Session: cmp.Or(o.Session, request.Session), Thread: request.Thread, User: request.User, Locale: request.Locale,
	}
	for _, in := range o.Inputs {
		w.Results[in.SubJob] = events.Result{Output: g.log.Input(in).Output, Run: in.Run, Skipped: in.Skipped}
	}
	for _, seq := range o.Lessons {
		w.Lessons = append(w.Lessons, g.log.At(seq).Report().Lesson)
	}
	for _, seq := range o.Answers {
		e := g.log.At(seq)
		if closed, ok := e.Data.(*events.InputClosed); ok {
			w.Answers[e.Key] = *closed
		}
	}
	b, err := g.briefer.Make(&g.brief, g.log.Job, request, &w, func(at graph.Spec) (string, error) {
		planned, _ := g.log.Text(at)
		return planned.Goal, nil
	})
	if err == nil {
		w.Brief, err = b.Append(nil)
	}
	if err != nil {
		g.err = fmt.Errorf("make the brief of %s: %w", c.SubJob, err)
	}
	return w
}

// combine builds the job's result: the result of a single last SubJob as it is, several as an object by SubJob.
func (g *engine) combine(tails []graph.Input) json.RawMessage {
	switch len(tails) {
	case 0:
		return nil
	case 1:
		return g.log.Input(tails[0]).Output
	}
	all := map[string]json.RawMessage{}
	for _, in := range tails {
		if out := g.log.Input(in).Output; out != nil {
			all[in.SubJob] = out
		}
	}
	return raw(all)
}
