package jobtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// factKey is the last token of a fact's subject: what stands behind "~" in the command's key.
func factKey(c graph.Command) string {
	_, key, _ := strings.Cut(c.Key, "~")
	return key
}

// work hands a run to its planner or expert, and queues what it answers.
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

// message resolves the references of an order, as the scheduler's shell does.
func (g *engine) message(c graph.Command) events.Work {
	o := c.Order
	spec := g.spec(o.Spec)
	if spec.Expert == "" {
		spec.Expert = o.Expert
	}
	request := &g.request
	w := events.Work{
		Kind: o.Kind, Job: g.job.ID, SubJob: c.SubJob, Run: c.Run, Attempt: o.Attempt, ResumeOf: o.ResumeOf,
		Spec: spec, Goal: spec.Goal, Context: spec.Context, CompletionCriteria: spec.CompletionCriteria,
		Inputs: request.Inputs, Results: map[string]events.Result{}, Answers: map[string]events.InputClosed{},
		Select: o.Select, LifeCycle: o.LifeCycle, Deadline: o.Deadline, PlanVersion: o.PlanVersion, Finished: o.Finished,
		Request: request, IdempotencyKey: run.ID(g.job.ID, c.SubJob, c.Run),
	}
	for _, in := range o.Inputs {
		w.Results[in.SubJob] = events.Result{Output: g.result(in), Run: in.Run, Skipped: in.Skipped}
	}
	for _, seq := range o.Lessons {
		e := g.log[seq-1]
		w.Lessons = append(w.Lessons, e.Report().Lesson)
	}
	for _, seq := range o.Answers {
		if closed, ok := g.log[seq-1].Data.(*events.InputClosed); ok {
			w.Answers[g.log[seq-1].Key] = *closed
		}
	}
	return w
}

// spec is the text of a SubJob: that of its plan, with the fields that later edits name.
func (g *engine) spec(at graph.Spec) events.SubJob {
	var spec events.SubJob
	if at.Seq == 0 {
		return spec
	}
	plan := g.planOf(at.Seq)
	if plan == nil {
		return spec
	}
	for _, s := range plan.SubJobs {
		if s.ID == at.ID {
			spec = s
		}
	}
	for _, seq := range at.Edits {
		if edit, ok := g.log[seq-1].Data.(*events.RerunRequested); ok && len(edit.Edit) > 0 {
			if err := json.Unmarshal(edit.Edit, &spec); err != nil {
				g.err = fmt.Errorf("edit of event %d: %w", seq, err)
			}
		}
	}
	return spec
}

func (g *engine) planOf(seq uint64) *events.Plan {
	switch data := g.log[seq-1].Data.(type) {
	case *events.GraphCreated:
		return data.Plan
	case *events.PlanEdited:
		return data.Plan
	}
	return nil
}

// result is what a predecessor handed over.
func (g *engine) result(in graph.Input) json.RawMessage {
	if in.Skipped {
		return nil
	}
	if in.Spec.Seq != 0 {
		return g.spec(in.Spec).ExecutionRes
	}
	if in.Seq == 0 {
		return nil
	}
	e := g.log[in.Seq-1]
	if answer, ok := e.Data.(*events.JobAnswered); ok {
		return answer.Answer
	}
	return e.Report().Output
}

// combine makes the job's result: one tail's as it is, several as an object by SubJob.
func (g *engine) combine(tails []graph.Input) json.RawMessage {
	switch len(tails) {
	case 0:
		return nil
	case 1:
		return g.result(tails[0])
	}
	all := map[string]json.RawMessage{}
	for _, in := range tails {
		if out := g.result(in); out != nil {
			all[in.SubJob] = out
		}
	}
	return raw(all)
}
