package graph

import (
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Step applies one fact. It is total: whatever the event, it returns what it did with it. An ignored event changes nothing but what
// it has used up in the log: its sequence, its position on the control subject, the id of a request. Only a Poisoned event leaves
// even that alone.
func (j *Job) Step(e events.Event) Effect {
	switch {
	case e.Job != j.State.ID:
		return Effect{Ignored, "another job's event"}
	case e.Seq <= j.Seq:
		return Effect{Verdict: Duplicate}
	}
	if reason := poison(&e); reason != "" && j.foreign(&e) == "" {
		return Effect{Poisoned, reason}
	}
	j.now = e
	if e.Control {
		j.ControlSeq = e.Seq
	}
	effect := j.apply(&j.now)
	j.State.Seq, j.State.EventID = e.Seq, e.ID
	j.runs.drain()
	j.settle()
	j.now = events.Event{}
	return effect
}

// poison says why an event that cannot be understood must not be skipped.
func poison(e *events.Event) string {
	if e.Fault != nil && e.Fault.Code == events.CodeMustUnderstand {
		return e.Fault.Error()
	}
	switch d := e.Data.(type) {
	case *events.GraphCreated:
		if d.Plan == nil && d.PlanRef != nil {
			return "the plan's blob " + d.PlanRef.Digest + " was not resolved"
		}
	case *events.PlanEdited:
		if d.Plan == nil && d.PlanRef != nil {
			return "the plan's blob " + d.PlanRef.Digest + " was not resolved"
		}
	}
	return ""
}

var applied = Effect{Verdict: Applied}

func ignored(format string, args ...any) Effect {
	return Effect{Ignored, fmt.Sprintf(format, args...)}
}

// bornSince is the first version of the rules in which the facts of an earlier job with the same id do not count.
const bornSince = 5

func (j *Job) apply(e *events.Event) Effect {
	if e.Born > 0 && e.Born < j.RequestSeq && j.Rules.Version >= bornSince {
		return ignored("it is about an earlier job with this id, requested by event %d", e.Born)
	}
	if reason := j.foreign(e); reason != "" {
		return Effect{Ignored, reason}
	}
	switch e.Kind {
	case events.KindSubJobReported:
		return j.outcomes.reported(e)
	case events.KindGraphCreated, events.KindPlanRejected, events.KindJobAnswered:
		return j.planning.planned(e)
	case events.KindInputRequested:
		return j.outcomes.inputRequested(e)
	case events.KindInputClosed:
		return j.outcomes.inputClosed(e)
	}
	if e.Fault != nil {
		return ignored("%s", e.Fault.Error())
	}
	switch d := e.Data.(type) {
	case *events.SubJobStarted:
		return j.runs.started(e)
	case *events.SubJobProgressed, *events.GraphReplaced, *events.JobAdvanced, *events.JobMoved, *events.SessionMoved:
		if e.Kind == events.KindJobPlanning {
			j.lifecycle.planningStated()
		}
		j.outbox.discharge(e.Kind, e.Key)
		return applied
	case *events.SubJobClosed:
		return j.runs.closed(e, d)
	case *events.TimerFired:
		return j.outcomes.fired(d)
	case *events.JobEnded:
		return j.lifecycle.ended(e, d)
	case *events.JobRequested:
		return ignored("the job was requested before")
	}
	return j.requests.apply(e)
}

// foreign says why a fact that a pool states is not about a run of that pool. Such a fact changes nothing, and therefore need not be
// understood: a worker may publish facts about every job on the subjects of its pool.
func (j *Job) foreign(e *events.Event) string {
	if e.Pool == "" {
		return ""
	}
	switch n := j.dag.find(e.SubJob); {
	case n != nil && n.Pool != e.Pool:
		return fmt.Sprintf("%s is for pool %s, not %s", e.SubJob, n.Pool, e.Pool)
	case n == nil && e.Fault != nil:
		return fmt.Sprintf("no SubJob %q", e.SubJob)
	}
	return ""
}

// settle derives the job's status from its SubJobs once an event is applied.
func (j *Job) settle() {
	if j.Status.Terminal() {
		return
	}
	if j.Replanning && j.runs.open == 0 {
		j.Replanning = false
		j.planning.start(events.WorkReplan)
		j.runs.drain()
	}
	if p := j.dag.plan(); p.live() || j.PlanVersion == 0 {
		j.settlePlanning(p)
		return
	}
	ready, running, waiting := j.dag.number(events.Ready), j.dag.number(events.Running), j.dag.number(events.Waiting)
	switch {
	case ready+running+waiting+j.dag.number(events.Created) == 0:
		j.finale.begin()
	case j.waits.asking > 0 && ready == 0 && running == 0 && waiting == j.waits.asking && j.runs.fencing == 0:
		j.lifecycle.move(events.Waiting)
	case ready+running+waiting == 0 && j.runs.fencing == 0 && !j.Replanning:
		j.lifecycle.end(events.Failed, fault(events.CodeInternal, "no SubJob can start any more; please report this as a bug"))
	default:
		j.lifecycle.move(events.Running)
	}
}

func (j *Job) settlePlanning(p *node) {
	switch {
	case p.Request != "":
		j.lifecycle.move(events.Waiting)
	case j.Status != events.Created:
		j.lifecycle.move(events.Planning)
	}
}
