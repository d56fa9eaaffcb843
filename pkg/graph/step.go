package graph

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Step applies one fact. It is total: whatever the event, it answers with what became of it. An ignored one changes nothing
// but what it has used up in the log: its sequence, its place on the control subject, the id of a request. Only a Poisoned
// event leaves even that alone.
func (j *Job) Step(e events.Event) Effect {
	switch {
	case e.Job != j.State.ID:
		return Effect{Ignored, "another job's event"}
	case e.Seq <= j.Seq:
		return Effect{Verdict: Duplicate}
	}
	if reason := poison(&e); reason != "" {
		return Effect{Poisoned, reason}
	}
	j.begin(e)
	if e.Control || asks(e.Data) {
		j.ControlSeq = e.Seq
	}
	effect := j.apply(j.now)
	j.State.Seq, j.State.EventID = e.Seq, e.ID
	j.drain()
	j.settle()
	j.done()
	return effect
}

// asks reports whether a payload is that of a control event.
func asks(data any) bool {
	switch data.(type) {
	case *events.StopRequested, *events.FailRequested, *events.RecoverRequested, *events.RetryRequested, *events.RerunRequested, *events.PlanEdited:
		return true
	}
	return false
}

// poison says why an event may not be passed over although it cannot be understood.
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

func (j *Job) apply(e *events.Event) Effect {
	switch e.Kind {
	case events.KindSubJobReported:
		return j.reported(e)
	case events.KindGraphCreated, events.KindPlanRejected, events.KindJobAnswered:
		return j.planned(e)
	case events.KindInputRequested:
		return j.inputRequested(e)
	case events.KindInputClosed:
		return j.inputClosed(e)
	}
	if e.Fault != nil {
		return ignored("%s", e.Fault.Error())
	}
	switch d := e.Data.(type) {
	case *events.SubJobStarted:
		return j.started(e)
	case *events.SubJobProgressed, *events.GraphReplaced, *events.JobAdvanced, *events.JobMoved, *events.SessionMoved:
		return j.stated(e)
	case *events.SubJobClosed:
		return j.closed(e, d)
	case *events.TimerFired:
		return j.fired(d)
	case *events.JobEnded:
		return j.ended(e, d)
	case *events.JobRequested:
		return ignored("the job was requested before")
	}
	return j.control(e)
}

// run finds the live run that an event is about; the effect says why there is none.
func (j *Job) run(e *events.Event) (*node, Effect) {
	n := j.find(e.SubJob)
	switch {
	case n == nil && strings.HasPrefix(e.SubJob, events.PlanID+"~"):
		return nil, ignored("%s was asked before planning: the planner reads what it says", e.SubJob)
	case n == nil:
		return nil, ignored("no SubJob %q", e.SubJob)
	case e.Run > n.Run:
		return nil, ignored("run %d of %s was never issued", e.Run, n.ID)
	case !n.Open || e.Run != n.Run:
		return nil, ignored("run %d of %s is over", e.Run, n.ID)
	}
	return n, applied
}

func (j *Job) started(e *events.Event) Effect {
	n, effect := j.run(e)
	if n == nil {
		return effect
	}
	if n.Status == events.Ready {
		n.Started = e.Time
		j.move(n, events.Running, "running")
		j.attend(n)
	}
	return applied
}

// stated discharges a fact of the scheduler's own that was read back.
func (j *Job) stated(e *events.Event) Effect {
	if e.Kind == events.KindJobPlanning && j.Status == events.Created {
		j.Status = events.Planning
		j.Changed = e.Time
	}
	for i, f := range j.Facts {
		if f.Kind == e.Kind && f.Key == e.Key {
			j.Facts = slices.Delete(j.Facts, i, i+1)
			j.sent.facts = slices.Delete(j.sent.facts, i, i+1)
			break
		}
	}
	return applied
}

// closed lifts the fence of a run that was closed: at once when nobody held it, otherwise when its lease has passed.
func (j *Job) closed(e *events.Event, d *events.SubJobClosed) Effect {
	n := j.find(e.SubJob)
	if n == nil || n.Closing != e.Run {
		return ignored("no run %d of %q is being closed", e.Run, e.SubJob)
	}
	n.Closing = 0
	if d.Claimed {
		until := later(e.Time, d.LeaseUntil)
		if most := e.Time.Add(maxLease); until.After(most) {
			until = most
		}
		n.Fenced, n.FenceAt = e.Run, until.Add(j.Rules.LeaseMargin.Std())
		j.attend(n)
	}
	j.refence(n)
	j.look(n)
	return applied
}

// maxLease bounds how long a closed run can hold back the next one, whatever its journal says.
const maxLease = 24 * time.Hour

// ended reads the terminal fact back.
func (j *Job) ended(e *events.Event, d *events.JobEnded) Effect {
	if !j.EndOwed || d.Turn != j.Turn || e.Kind != movedTo(j.Status) {
		return ignored("no %s of turn %d is owed", e.Kind, d.Turn)
	}
	j.EndOwed = false
	j.Result, j.ResultRef = d.Result, d.ResultRef
	return applied
}

// moveJob changes the job's status and owes the fact of it.
func (j *Job) moveJob(to events.Status) {
	if j.Status == to {
		return
	}
	j.Status = to
	j.Turn++
	j.Changed = j.now.Time
	j.owe(movedTo(to), strconv.Itoa(j.Turn), events.JobMoved{Status: to, Turn: j.Turn, Cause: j.now.Seq})
}

// movedTo is the fact that a job has reached a status.
func movedTo(s events.Status) events.Kind {
	switch s {
	case events.Planning:
		return events.KindJobPlanning
	case events.Waiting:
		return events.KindJobWaiting
	case events.Running:
		return events.KindJobRunning
	case events.Finalizing:
		return events.KindJobFinalizing
	case events.Finished:
		return events.KindJobFinished
	case events.Failed:
		return events.KindJobFailed
	}
	return events.KindJobStopped
}

// owe keeps a fact until it is read back.
func (j *Job) owe(kind events.Kind, key string, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic("encode " + string(kind) + ": " + err.Error())
	}
	j.Facts = append(j.Facts, Fact{Kind: kind, Key: key, Data: raw})
	j.sent.facts = append(j.sent.facts, false)
}
