package graph

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// runs moves SubJobs between statuses: it issues, ends, closes and fences their runs, and records their results. outcomes decides
// what follows a failure.
type runs struct {
	job    *State
	now    *events.Event
	dag    *dag
	queues *queues
	waits  *waits
	outbox *outbox
	// open counts live runs of steps, fencing steps that wait only for the end of their previous run.
	open, fencing int
	// queue holds nodes to be examined before the step ends; held those that wait for a free place.
	queue       []int32
	held        heap
	transitions []events.Transition
}

// The reasons recorded for a replaced version and a closed run after a complaint of a successor.
const (
	upstreamRerun    = "upstream_rerun"
	closedByUpstream = "a predecessor runs again"
)

// sizesSince is the first version of the rules in which conditions can compare long values.
const sizesSince = 4

// maxSelected limits a value that is kept unchanged for conditions, in bytes.
const maxSelected = 256

// maxLease limits how long a closed run can delay the next one, whatever its journal says.
const maxLease = 24 * time.Hour

// ChildSession returns the session of a handed-off SubJob: its own, and the same for every run.
func ChildSession(job, subjob string) string { return job + "~" + subjob }

// drain examines every node that an event has touched, and gives free places to waiting nodes.
func (r *runs) drain() {
	for {
		for i := 0; i < len(r.queue); i++ {
			r.activate(r.dag.nodes[r.queue[i]])
		}
		r.queue = r.queue[:0]
		if len(r.held) == 0 || !r.hasPlace() || r.paused() {
			return
		}
		if n := r.dag.nodes[r.held.pop()]; n.Status == events.Ready && !n.Open && !n.blocked() && n.unfinished == 0 {
			r.issue(n)
		}
	}
}

func (r *runs) hasPlace() bool {
	return r.job.Rules.Concurrency == 0 || r.open < r.job.Rules.Concurrency
}

// paused reports whether no step may start: the job is over, or its remainder is being planned again.
func (r *runs) paused() bool {
	return r.job.Status.Terminal() || r.job.Replanning || r.dag.plan().live()
}

// activate issues the next run of a node unless something prevents it.
func (r *runs) activate(n *node) {
	if r.job.Status.Terminal() || !n.live() || n.Open || n.blocked() || n.unfinished > 0 {
		return
	}
	if n.step() {
		if r.paused() {
			return
		}
		if n.Status == events.Created && r.dag.skipped(n) {
			n.Skipped = true
			r.complete(n, "skipped")
			return
		}
		if r.job.Rules.Concurrency > 0 {
			r.moveRun(n, events.Ready, "ready", n.Run+1)
			r.held.push(n.at)
			return
		}
	}
	r.issue(n)
}

// issue begins the next run of a node: its work is pending from then on.
func (r *runs) issue(n *node) {
	r.moveRun(n, events.Ready, "ready", n.Run+1)
	if n.step() {
		r.open++
	}
	n.Run++
	n.Open = true
	r.outbox.attend(n)
}

// complete makes a node FINISHED and releases its successors, in O(out-degree).
func (r *runs) complete(n *node, transition string) {
	n.Ended = r.now.Time
	n.Error = nil
	r.move(n, events.Finished, transition)
	for _, at := range n.succs {
		s := r.dag.nodes[at]
		if s.unfinished--; s.unfinished == 0 && s.live() {
			r.look(s)
		}
	}
}

// end records that the live run has ended with its own report.
func (r *runs) end(n *node) {
	n.Open = false
	r.queues.dequeue(n)
	r.queues.over(n)
	if n.step() {
		r.open--
	}
}

// close ends the live run from outside: it is fenced before the next one may be issued.
func (r *runs) close(n *node, reason string) {
	if !n.Open {
		return
	}
	r.end(n)
	n.Closing, n.CloseReason = n.Run, reason
	r.refence(n)
	r.outbox.attend(n)
}

// stop makes one live node STOPPED, closes its run and withdraws its question.
func (r *runs) stop(n *node, f *events.Fault) {
	r.close(n, f.Message)
	r.waits.withdraw(n)
	n.RetryAt = time.Time{}
	n.Error, n.Ended = f, r.now.Time
	r.move(n, events.Stopped, "stopped")
}

// retire takes a node out of the graph: kept for audit, never executed.
func (r *runs) retire(n *node, why string) {
	r.close(n, "the plan was changed")
	r.waits.withdraw(n)
	r.keepVersion(n, why)
	r.move(n, events.Legacy, "replaced")
}

// move changes a node's status along the table of legal moves.
func (r *runs) move(n *node, to events.Status, transition string) {
	r.moveRun(n, to, transition, n.Run)
}

// moveRun is like move, for a transition of a run other than the last one.
func (r *runs) moveRun(n *node, to events.Status, transition string, run int) {
	if n.Status == to {
		return
	}
	if !legal(n.Status, to) {
		panic(fmt.Sprintf("illegal move of %s from %s to %s by %s", n.ID, n.Status, to, r.now.Kind))
	}
	if n.step() {
		r.transitions = append(r.transitions, events.Transition{SubJob: n.ID, Run: run, Transition: transition, Cause: r.now.Seq})
	}
	r.dag.set(n, to)
	switch to {
	case events.Ready:
		r.queues.over(n)
	case events.Running:
		r.queues.began(n)
		r.queues.dequeue(n)
	default:
		r.queues.over(n)
		r.queues.dequeue(n)
	}
	r.refence(n)
	if n.Session != "" {
		r.tellSession(n)
	}
}

// refence updates whether a node counts as waiting only for the end of its previous run.
func (r *runs) refence(n *node) {
	fenced := n.step() && n.Status == events.Created && (n.Closing != 0 || !n.FenceAt.IsZero())
	if fenced == n.fenced {
		return
	}
	n.fenced = fenced
	if fenced {
		r.fencing++
	} else {
		r.fencing--
	}
}

// look marks a node to be examined before the step ends.
func (r *runs) look(n *node) { r.queue = append(r.queue, n.at) }

// delay makes a node wait before its next run.
func (r *runs) delay(n *node, wait time.Duration) {
	n.RetryAt = r.now.Time.Add(wait)
	r.move(n, events.Waiting, "requeued")
	r.outbox.attend(n)
}

// again makes a node ready for its next run at once.
func (r *runs) again(n *node) {
	if n.Status == events.Running {
		r.move(n, events.Ready, "requeued")
	}
	n.Started = time.Time{}
	r.look(n)
}

// rerun makes nodes run again: results become legacy versions, live runs are closed. affected contains all dependents of its
// nodes.
func (r *runs) rerun(affected []*node, why string) {
	for _, n := range affected {
		r.reset(n, why)
	}
	for _, n := range affected {
		r.look(n)
	}
}

// reset takes a node back to CREATED.
func (r *runs) reset(n *node, why string) {
	reason := closedByUpstream
	if why != upstreamRerun {
		reason = "it runs again: " + why
	}
	r.close(n, reason)
	r.waits.withdraw(n)
	r.keepVersion(n, why)
	n.forget()
	if n.Status == events.Finished {
		for _, at := range n.succs {
			r.dag.nodes[at].unfinished++
		}
	}
	r.move(n, events.Created, "requeued")
}

// keepVersion records the current result, or failure, as a legacy version.
func (r *runs) keepVersion(n *node, why string) {
	if n.Status.Terminal() {
		n.Versions = append(n.Versions, Version{Run: n.ResultRun, Status: n.Status, Seq: n.ResultSeq, Reason: why, Cause: r.now.Seq})
	}
}

// selectValues keeps the values that conditions of successors read in a result.
func (r *runs) selectValues(n *node, output json.RawMessage, selected map[string]json.RawMessage) {
	if len(n.Selects) == 0 {
		return
	}
	n.Selected = make(map[string]json.RawMessage, len(n.Selects))
	for _, path := range n.Selects {
		raw, ok := selected[path]
		if !ok && len(output) > 0 {
			raw, ok = Select(output, path)
		}
		if r.job.Rules.Version >= sizesSince {
			raw = Compared(raw)
		}
		if ok && (len(raw) <= maxSelected || r.job.Rules.Version >= sizesSince) {
			n.Selected[path] = raw
		}
	}
}

// tellSession publishes the start of a handed-off SubJob's session when its first run is issued, and the end when the SubJob first
// ends, even if it failed. Later runs use the same session, without events.
func (r *runs) tellSession(n *node) {
	next := events.KindSessionStarted
	switch {
	case n.Told == "" && n.Status == events.Ready:
	case n.Told == events.KindSessionStarted && !n.live():
		next = events.KindSessionEnded
	default:
		return
	}
	n.Told = next
	r.outbox.add(next, n.ID, events.SessionMoved{Session: n.Session, Thread: r.job.Thread, SubJob: n.ID, Status: n.Status, Cause: r.now.Seq})
}

// find returns the node whose live run an event is about; if there is none, the effect says why.
func (r *runs) find(e *events.Event) (*node, Effect) {
	n := r.dag.find(e.SubJob)
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

func (r *runs) started(e *events.Event) Effect {
	n, effect := r.find(e)
	if n == nil {
		return effect
	}
	if n.Status == events.Ready {
		n.Started = e.Time
		r.move(n, events.Running, "running")
		r.outbox.attend(n)
	}
	return applied
}

// closed ends the fence of a closed run: at once if no worker held it, otherwise when its lease has passed.
func (r *runs) closed(e *events.Event, d *events.SubJobClosed) Effect {
	n := r.dag.find(e.SubJob)
	if n == nil || n.Closing != e.Run {
		return ignored("no run %d of %q is being closed", e.Run, e.SubJob)
	}
	n.Closing = 0
	if d.Claimed {
		until := later(e.Time, d.LeaseUntil)
		if most := e.Time.Add(maxLease); until.After(most) {
			until = most
		}
		n.Fenced, n.FenceAt = e.Run, until.Add(r.job.Rules.LeaseMargin.Std())
		r.outbox.attend(n)
	}
	r.refence(n)
	r.look(n)
	return applied
}

// halt forgets all nodes that are still to be examined or wait for a place, because the job is over.
func (r *runs) halt() { r.queue, r.held = r.queue[:0], nil }

// restore derives what is not saved.
func (r *runs) restore() {
	for _, n := range r.dag.nodes {
		r.outbox.attend(n)
		r.refence(n)
		if !n.step() {
			continue
		}
		if n.Open {
			r.open++
		}
		if n.Request != "" {
			r.waits.asking++
		}
		if n.Status == events.Ready && !n.Open && !n.blocked() {
			r.held.push(n.at)
		}
	}
}
