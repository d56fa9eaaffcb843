package graph

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// requests applies control events. It has no state.
type requests struct {
	job       *State
	now       *events.Event
	dag       *dag
	runs      *runs
	waits     *waits
	outbox    *outbox
	outcomes  *outcomes
	planning  *planning
	lifecycle *lifecycle
}

// apply applies a control event. If what the sender expected no longer holds, nothing happens.
func (c *requests) apply(e *events.Event) Effect {
	switch d := e.Data.(type) {
	case *events.StopRequested:
		return c.stop(d, events.Stopped, events.CodeCancelled, "stopped")
	case *events.FailRequested:
		return c.stop((*events.StopRequested)(d), events.Failed, events.CodeFailedByHand, "declared failed")
	case *events.RecoverRequested:
		return c.recover(d)
	case *events.RetryRequested:
		return c.retry(d)
	case *events.RerunRequested:
		return c.rerun(e, d)
	case *events.PlanEdited:
		return c.edit(d)
	}
	return ignored("%s means nothing to the fold", e.Kind)
}

func (c *requests) stop(d *events.StopRequested, to events.Status, code events.Code, what string) Effect {
	if c.job.Status.Terminal() {
		return ignored("the job is %s", c.job.Status)
	}
	f := &events.Fault{Code: code, Message: what, Field: d.SubJob, Hint: "jobgraph recover " + c.job.ID + " goes on"}
	if d.By != "" {
		f.Message += " by " + d.By
	}
	if d.Reason != "" {
		f.Message += ": " + cut(d.Reason, 500)
	}
	if d.SubJob == "" {
		c.lifecycle.end(to, f)
		return applied
	}
	n, effect := c.target(d.SubJob, d.Run)
	switch {
	case n == nil:
		return effect
	case !n.live():
		return ignored("%s is %s", n.ID, n.Status)
	case to == events.Failed:
		c.runs.close(n, f.Message)
		c.waits.withdraw(n)
		n.RetryAt, n.Error, n.Ended = time.Time{}, f, c.now.Time
		c.runs.move(n, events.Failed, "failed")
	default:
		c.runs.stop(n, f)
	}
	if d.Only {
		c.outcomes.stopDependents(n)
		return applied
	}
	c.lifecycle.end(to, f)
	return applied
}

// target finds the step that a request is about, at the run that its sender saw.
func (c *requests) target(id string, run int) (*node, Effect) {
	n := c.dag.find(id)
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

func (c *requests) recover(d *events.RecoverRequested) Effect {
	if c.job.Status != events.Failed && c.job.Status != events.Stopped {
		return ignored("the job is %s: only a STOPPED or FAILED job can be recovered", c.job.Status)
	}
	roots := c.dag.in(events.Failed, events.Stopped)
	if d.From != "" {
		from, effect := c.target(d.From, 0)
		switch {
		case from == nil:
			return effect
		case !from.workable():
			return ignored("%s has no expert: its result came with the plan", from.ID)
		}
		roots = append(roots, from)
	}
	c.lifecycle.revive()
	c.outbox.add(events.KindJobRecovered, strconv.Itoa(c.job.Turn), events.JobMoved{Status: c.job.Status, Turn: c.job.Turn, Cause: c.now.Seq, Reason: d.By})
	c.runs.rerun(c.dag.revivable(roots), "recover")
	c.planning.resume()
	return applied
}

func (c *requests) retry(d *events.RetryRequested) Effect {
	n, effect := c.target(d.SubJob, d.Run)
	if n == nil {
		return effect
	}
	if n.Status != events.Failed && n.Status != events.Stopped {
		return ignored("%s is %s: only a FAILED or STOPPED SubJob can be retried", n.ID, n.Status)
	}
	affected := c.dag.revivable(append([]*node{n}, c.stranded()...))
	if !slices.Contains(affected, n) {
		return ignored("%s depends on a SubJob that is FAILED or STOPPED: retry that", n.ID)
	}
	c.reopen()
	c.runs.rerun(affected, "retry")
	return applied
}

// reopen revives an ended job, and withdraws a finalization in progress.
func (c *requests) reopen() {
	if c.job.Status.Terminal() {
		c.lifecycle.revive()
		c.outbox.add(events.KindJobRecovered, strconv.Itoa(c.job.Turn), events.JobMoved{Status: c.job.Status, Turn: c.job.Turn, Cause: c.now.Seq})
		c.planning.resume()
	}
	if f := c.dag.find(events.FinalID); f != nil && f.live() {
		c.runs.stop(f, fault(events.CodeCancelled, "the graph runs again"))
	}
}

// stranded returns the STOPPED nodes of an ended job: they return with the job.
func (c *requests) stranded() []*node {
	if !c.job.Status.Terminal() {
		return nil
	}
	return c.dag.in(events.Stopped)
}

func (c *requests) rerun(e *events.Event, d *events.RerunRequested) Effect {
	n, effect := c.target(d.SubJob, d.Run)
	if n == nil {
		return effect
	}
	var edit events.SubJob
	if len(d.Edit) > 0 {
		if err := json.Unmarshal(d.Edit, &edit); err != nil {
			return ignored("the edit of %s cannot be read: %v", n.ID, err)
		}
	}
	affected := c.dag.revivable(append([]*node{n}, c.stranded()...))
	switch {
	case edit.Expert == "" && !n.workable():
		return ignored("%s has no expert: its result came with the plan", n.ID)
	case edit.Expert != "" && !events.ValidID(edit.Expert), edit.Pool != "" && !events.ValidID(edit.Pool):
		return ignored("expert %.80q and pool %.80q are no address", edit.Expert, edit.Pool)
	case !slices.Contains(affected, n):
		return ignored("%s depends on a SubJob that is FAILED or STOPPED: retry that", n.ID)
	}
	c.reopen()
	c.runs.rerun(affected, "rerun")
	if len(d.Edit) > 0 {
		n.Spec.Edits = append(n.Spec.Edits, e.Seq)
		n.redirect(&edit)
	}
	return applied
}

// redirect applies what an edit changes about addressing and limits; the text is resolved from the event.
func (n *node) redirect(edit *events.SubJob) {
	if edit.Expert != "" {
		n.move(cmp.Or(edit.Pool, events.DefaultPool))
		n.Expert, n.Pure = edit.Expert, edit.Pure
	}
	if edit.Timeout != nil {
		n.Timeout = *edit.Timeout
	}
	if edit.Retries != nil {
		n.RetryLimit = max(0, *edit.Retries)
	}
}

func (c *requests) edit(d *events.PlanEdited) Effect {
	switch {
	case c.job.Status.Terminal():
		return ignored("the job is %s", c.job.Status)
	case c.dag.plan().live():
		return ignored("a planner is at work on the graph: edit what comes out")
	case c.job.PlanVersion == 0 || d.PlanVersion != c.job.PlanVersion:
		return ignored("the graph is at version %d, the edit is about %d", c.job.PlanVersion, d.PlanVersion)
	}
	if f := checkPlan(c.dag, &c.job.Rules, d.Plan, true); f != nil {
		return ignored("%s", f.Error())
	}
	c.reopen()
	c.job.Replanning = false
	c.planning.install(d.Plan, "edit")
	return applied
}
