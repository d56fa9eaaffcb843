package graph

import (
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// drain looks at every node that an event touched, and hands free places to those that wait for one.
func (j *Job) drain() {
	for {
		for i := 0; i < len(j.queue); i++ {
			j.activate(j.nodes[j.queue[i]])
		}
		j.queue = j.queue[:0]
		if len(j.held) == 0 || !j.hasPlace() || j.paused() {
			return
		}
		if n := j.nodes[j.held.pop()]; n.Status == events.Ready && !n.Open && !n.blocked() && n.unfinished == 0 {
			j.issue(n)
		}
	}
}

func (j *Job) hasPlace() bool { return j.Rules.Concurrency == 0 || j.open < j.Rules.Concurrency }

// paused reports whether no step may start: the job is over, or its remainder is planned again.
func (j *Job) paused() bool { return j.Status.Terminal() || j.Replanning || j.plan().live() }

// activate issues the next run of a node, if nothing stands in its way.
func (j *Job) activate(n *node) {
	if j.Status.Terminal() || !n.live() || n.Open || n.blocked() || n.unfinished > 0 {
		return
	}
	if n.step() {
		if j.paused() {
			return
		}
		if n.Status == events.Created && j.skipped(n) {
			n.Skipped = true
			j.complete(n, "skipped")
			return
		}
		if j.Rules.Concurrency > 0 {
			j.moveRun(n, events.Ready, "ready", n.Run+1)
			j.held.push(n.at)
			return
		}
	}
	j.issue(n)
}

// issue raises the run of a node: its work is owed from now on.
func (j *Job) issue(n *node) {
	j.moveRun(n, events.Ready, "ready", n.Run+1)
	if n.step() {
		j.open++
	}
	n.Run++
	n.Open = true
	j.attend(n)
}

// skipped reports whether a step is passed over: its condition does not hold, or all its predecessors were.
func (j *Job) skipped(n *node) bool {
	all := len(n.Deps) > 0
	for _, at := range n.Deps {
		all = all && j.nodes[at].Skipped
	}
	return all || n.when != nil && !n.when.holds(func(id, path string) any { return j.value(n, id, path) })
}

// complete makes a node FINISHED and releases its successors, in O(degree).
func (j *Job) complete(n *node, transition string) {
	n.Ended = j.now.Time
	n.Error = nil
	j.move(n, events.Finished, transition)
	for _, at := range n.succs {
		s := j.nodes[at]
		if s.unfinished--; s.unfinished == 0 && s.live() {
			j.look(s)
		}
	}
}

// endRun records that the live run is over by its own report.
func (j *Job) endRun(n *node) {
	n.Open = false
	j.dequeue(n)
	j.over(n)
	if n.step() {
		j.open--
	}
}

// closeRun ends the live run from outside: it is fenced before a next one may be issued.
func (j *Job) closeRun(n *node, reason string) {
	if !n.Open {
		return
	}
	j.endRun(n)
	n.Closing, n.CloseReason = n.Run, reason
	j.refence(n)
	j.attend(n)
}

// settle derives the job's status from its SubJobs once an event is applied.
func (j *Job) settle() {
	if j.Status.Terminal() {
		return
	}
	if j.Replanning && j.open == 0 {
		j.Replanning = false
		j.startPlanning(events.WorkReplan)
		j.drain()
	}
	if p := j.plan(); p.live() || j.PlanVersion == 0 {
		j.settlePlanning(p)
		return
	}
	ready, running, waiting := j.number(events.Ready), j.number(events.Running), j.number(events.Waiting)
	switch {
	case ready+running+waiting+j.number(events.Created) == 0:
		j.finalize()
	case j.asking > 0 && ready == 0 && running == 0 && waiting == j.asking && j.fencing == 0:
		j.moveJob(events.Waiting)
	case ready+running+waiting == 0 && j.fencing == 0 && !j.Replanning:
		j.end(events.Failed, fault(events.CodeInternal, "no SubJob can start any more; please report this as a bug"))
	default:
		j.moveJob(events.Running)
	}
}

func (j *Job) settlePlanning(p *node) {
	switch {
	case p.Request != "":
		j.moveJob(events.Waiting)
	case j.Status != events.Created:
		j.moveJob(events.Planning)
	}
}

// finalize makes the end of a graph in which nothing is left to do.
func (j *Job) finalize() {
	for _, status := range []events.Status{events.Failed, events.Stopped} {
		if j.number(status) > 0 {
			j.end(status, j.firstError(status))
			return
		}
	}
	expert := finalExpert(j.finale())
	if _, ok := j.worded(); ok {
		expert = events.PlannerExpert
	}
	if f := j.find(events.FinalID); expert == "" || f != nil && f.Status == events.Finished && f.ResultSeq > j.lastResult() {
		j.end(events.Finished, nil)
		return
	}
	j.startFinal(expert)
}

func finalExpert(finalize string) string {
	const mode = "expert:"
	if len(finalize) > len(mode) && finalize[:len(mode)] == mode {
		return finalize[len(mode):]
	}
	return ""
}

func (j *Job) lastResult() uint64 {
	var last uint64
	for _, n := range j.nodes {
		if n.step() && n.Status == events.Finished {
			last = max(last, n.ResultSeq)
		}
	}
	return last
}

func (j *Job) startFinal(expert string) {
	f := j.find(events.FinalID)
	if f == nil {
		f = j.add(SubJobState{ID: events.FinalID, Status: events.Created, RetryLimit: j.Rules.Retries})
	}
	if f.live() && f.Status != events.Created {
		if f.Request != "" {
			j.moveJob(events.Waiting)
		} else {
			j.moveJob(events.Finalizing)
		}
		return
	}
	f.Mode = events.WorkFinalize
	j.address(f, expert)
	if f.Status != events.Created {
		f.forget()
		f.Mode = events.WorkFinalize
		j.move(f, events.Created, "requeued")
	}
	f.Deps = j.observed()
	j.moveJob(events.Finalizing)
	j.look(f)
	j.drain()
}

// tails are the SubJobs whose results make the job's: those that no finished successor has used.
func (j *Job) tails() []int32 {
	var tails []int32
	for _, n := range j.nodes {
		if !n.step() || n.Status != events.Finished || n.Skipped {
			continue
		}
		used := func(at int32) bool { s := j.nodes[at]; return s.Status == events.Finished && !s.Skipped }
		if !slices.ContainsFunc(n.succs, used) {
			tails = append(tails, n.at)
		}
	}
	return tails
}

func (j *Job) firstError(status events.Status) *events.Fault {
	for _, n := range j.nodes {
		if n.step() && n.Status == status && n.Error != nil && n.Error.Code != events.CodeUnreachableAfter {
			f := *n.Error
			f.Field = n.ID
			return &f
		}
	}
	return fault(events.CodeExecution, "a SubJob is "+string(status))
}

// end gives the job its end and takes everything down that is still live.
func (j *Job) end(status events.Status, f *events.Fault) {
	j.Status = status
	j.Turn++
	j.Changed, j.Ended, j.EndCause, j.EndOwed, j.Error = j.now.Time, j.now.Time, j.now.Seq, true, f
	j.Replanning = false
	j.queue, j.held = j.queue[:0], nil
	code := events.CodeCancelled
	if f != nil {
		code = f.Code
	}
	for _, n := range j.nodes {
		if n.live() {
			j.stop(n, fault(code, "the job is "+string(status)))
		}
	}
	j.State.Tails = nil
	for _, at := range j.tails() {
		j.State.Tails = append(j.State.Tails, j.nodes[at].ID)
	}
}

// stop makes one live node STOPPED, its run closed and its question withdrawn.
func (j *Job) stop(n *node, f *events.Fault) {
	j.closeRun(n, f.Message)
	j.withdraw(n)
	n.RetryAt = time.Time{}
	n.Error, n.Ended = f, j.now.Time
	j.move(n, events.Stopped, "stopped")
}
