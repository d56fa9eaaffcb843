package graph

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// control applies what people ask for. What the sender expected has to hold still, otherwise nothing happens.
func (j *Job) control(e *events.Event) Effect {
	switch d := e.Data.(type) {
	case *events.StopRequested:
		return j.stopRequested(d, events.Stopped, events.CodeCancelled, "stopped")
	case *events.FailRequested:
		return j.stopRequested((*events.StopRequested)(d), events.Failed, events.CodeFailedByHand, "declared failed")
	case *events.RecoverRequested:
		return j.recoverRequested(d)
	case *events.RetryRequested:
		return j.retryRequested(d)
	case *events.RerunRequested:
		return j.rerunRequested(e, d)
	case *events.PlanEdited:
		return j.planEdited(d)
	}
	return ignored("%s means nothing to the fold", e.Kind)
}

func (j *Job) stopRequested(d *events.StopRequested, to events.Status, code events.Code, what string) Effect {
	if j.Status.Terminal() {
		return ignored("the job is %s", j.Status)
	}
	f := &events.Fault{Code: code, Message: what, Field: d.SubJob, Hint: "jobgraph recover " + j.State.ID + " goes on"}
	if d.By != "" {
		f.Message += " by " + d.By
	}
	if d.Reason != "" {
		f.Message += ": " + cut(d.Reason, 500)
	}
	if d.SubJob == "" {
		j.end(to, f)
		return applied
	}
	n, effect := j.target(d.SubJob, d.Run)
	switch {
	case n == nil:
		return effect
	case !n.live():
		return ignored("%s is %s", n.ID, n.Status)
	case to == events.Failed:
		j.closeRun(n, f.Message)
		j.withdraw(n)
		n.RetryAt, n.Error, n.Ended = time.Time{}, f, j.now.Time
		j.move(n, events.Failed, "failed")
	default:
		j.stop(n, f)
	}
	if d.Only {
		j.stopDependents(n)
		return applied
	}
	j.end(to, f)
	return applied
}

// target finds the step that a request is about, at the run that its sender saw.
func (j *Job) target(id string, run int) (*node, Effect) {
	n := j.find(id)
	switch {
	case n == nil || !n.step():
		return nil, ignored("no SubJob %q", id)
	case n.Status == events.Legacy:
		return nil, ignored("%s was replaced", id)
	case run != 0 && run != n.Run:
		return nil, ignored("%s is at run %d, not %d", id, n.Run, run)
	}
	return n, applied
}

// revive brings an ended job back: a new epoch, a new deadline, timers armed again.
func (j *Job) revive() {
	j.Epoch++
	j.Status = events.Running
	if j.PlanVersion == 0 {
		j.Status = events.Planning
	}
	j.Turn++
	j.Changed = j.now.Time
	j.EndOwed, j.EndCause, j.Error, j.AnswerSeq, j.Reaping = false, 0, nil, 0, false
	j.Ended, j.Result, j.ResultRef, j.State.Tails = time.Time{}, nil, nil, nil
	j.setDeadline()
	clear(j.sent.facts)
	for _, n := range j.nodes {
		n.sent.retry, n.sent.fence, n.sent.timeout = 0, 0, 0
		if !n.FenceAt.IsZero() {
			j.attend(n)
		}
	}
}

func (j *Job) recoverRequested(d *events.RecoverRequested) Effect {
	if j.Status != events.Failed && j.Status != events.Stopped {
		return ignored("the job is %s: only a STOPPED or FAILED job can be recovered", j.Status)
	}
	roots := j.nodesIn(events.Failed, events.Stopped)
	if d.From != "" {
		from, effect := j.target(d.From, 0)
		switch {
		case from == nil:
			return effect
		case !from.workable():
			return ignored("%s has no expert: its result came with the plan", from.ID)
		}
		roots = append(roots, from)
	}
	j.revive()
	j.owe(events.KindJobRecovered, strconv.Itoa(j.Turn), events.JobMoved{Status: j.Status, Turn: j.Turn, Cause: j.now.Seq, Reason: d.By})
	j.rerun(j.revivable(roots), "recover")
	j.resumePlanning()
	return applied
}

// resumePlanning issues the planning run again that an end cut off.
func (j *Job) resumePlanning() {
	if p := j.plan(); p.Status == events.Failed || p.Status == events.Stopped {
		mode := p.Mode
		j.keepVersion(p, "recover")
		p.forget()
		p.Mode = mode
		j.move(p, events.Created, "requeued")
		j.look(p)
	}
}

func (j *Job) nodesIn(statuses ...events.Status) []*node {
	var found []*node
	for _, n := range j.nodes {
		if n.step() && slices.Contains(statuses, n.Status) {
			found = append(found, n)
		}
	}
	return found
}

func (j *Job) retryRequested(d *events.RetryRequested) Effect {
	n, effect := j.target(d.SubJob, d.Run)
	if n == nil {
		return effect
	}
	if n.Status != events.Failed && n.Status != events.Stopped {
		return ignored("%s is %s: only a FAILED or STOPPED SubJob can be retried", n.ID, n.Status)
	}
	affected := j.revivable(append([]*node{n}, j.stranded()...))
	if !slices.Contains(affected, n) {
		return ignored("%s depends on a SubJob that is FAILED or STOPPED: retry that", n.ID)
	}
	j.reopen()
	j.rerun(affected, "retry")
	return applied
}

// reopen brings the job back if it has ended, and takes the finalisation back if it was under way.
func (j *Job) reopen() {
	if j.Status.Terminal() {
		j.revive()
		j.owe(events.KindJobRecovered, strconv.Itoa(j.Turn), events.JobMoved{Status: j.Status, Turn: j.Turn, Cause: j.now.Seq})
		j.resumePlanning()
	}
	if f := j.find(events.FinalID); f != nil && f.live() {
		j.stop(f, fault(events.CodeCancelled, "the graph runs again"))
	}
}

// stranded are the STOPPED nodes of a job that has ended: it comes back with all that its end has cut off.
func (j *Job) stranded() []*node {
	if !j.Status.Terminal() {
		return nil
	}
	return j.nodesIn(events.Stopped)
}

func (j *Job) rerunRequested(e *events.Event, d *events.RerunRequested) Effect {
	n, effect := j.target(d.SubJob, d.Run)
	if n == nil {
		return effect
	}
	var edit events.SubJob
	if len(d.Edit) > 0 {
		if err := json.Unmarshal(d.Edit, &edit); err != nil {
			return ignored("the edit of %s cannot be read: %v", n.ID, err)
		}
	}
	affected := j.revivable(append([]*node{n}, j.stranded()...))
	switch {
	case edit.Expert == "" && !n.workable():
		return ignored("%s has no expert: its result came with the plan", n.ID)
	case edit.Expert != "" && !events.ValidID(edit.Expert), edit.Pool != "" && !events.ValidID(edit.Pool):
		return ignored("expert %.80q and pool %.80q are no address", edit.Expert, edit.Pool)
	case !slices.Contains(affected, n):
		return ignored("%s depends on a SubJob that is FAILED or STOPPED: retry that", n.ID)
	}
	j.reopen()
	j.rerun(affected, "rerun")
	if len(d.Edit) > 0 {
		n.Spec.Edits = append(n.Spec.Edits, e.Seq)
		n.redirect(&edit)
	}
	return applied
}

// redirect applies what an edit changes about addressing and limits; the text is resolved from the event.
func (n *node) redirect(edit *events.SubJob) {
	if edit.Expert != "" {
		n.Expert, n.Pure, n.Pool = edit.Expert, edit.Pure, edit.Pool
		if n.Pool == "" {
			n.Pool = events.DefaultPool
		}
	}
	if edit.Timeout != nil {
		n.Timeout = *edit.Timeout
	}
	if edit.Retries != nil {
		n.RetryLimit = max(0, *edit.Retries)
	}
}

func (j *Job) planEdited(d *events.PlanEdited) Effect {
	switch {
	case j.Status.Terminal():
		return ignored("the job is %s", j.Status)
	case j.plan().live():
		return ignored("a planner is at work on the graph: edit what comes out")
	case j.PlanVersion == 0 || d.PlanVersion != j.PlanVersion:
		return ignored("the graph is at version %d, the edit is about %d", j.PlanVersion, d.PlanVersion)
	}
	if f := j.checkGraph(d.Plan, true); f != nil {
		return ignored("%s", f.Error())
	}
	j.reopen()
	j.Replanning = false
	j.install(d.Plan, "edit")
	return applied
}
