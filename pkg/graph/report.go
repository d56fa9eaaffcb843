package graph

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// reported applies the end of a run. The first closing fact of a run wins; any other is kept as late.
func (j *Job) reported(e *events.Event) Effect {
	r := e.Report()
	n, effect := j.run(e)
	if n == nil {
		return j.late(e, r.Spent, effect)
	}
	if j.Status.Terminal() {
		return ignored("the job is %s", j.Status)
	}
	j.endRun(n)
	j.spend(r.Spent)
	if planningMode(n.Mode) {
		j.retry(n, e, fault(events.CodeExecution, "a planning run has to answer with a graph, a rejection or an answer, not with a report"), 0)
		j.checkBudget()
		return applied
	}
	switch r.Outcome {
	case events.Success:
		n.ResultSeq, n.ResultRun = e.Seq, e.Run
		if j.relay(n) {
			break
		}
		j.selectValues(n, r.Output, r.Selected)
		j.complete(n, "completed")
		if n.final() {
			j.end(events.Finished, nil)
		}
	case events.InputDataError:
		j.complain(n, e, r)
	case events.TooComplicated:
		j.tooComplicated(n, e, r)
	default:
		j.retry(n, e, reason(r, events.CodeExecution, "the expert reported an error"), r.RetryAfter.Std())
	}
	j.checkBudget()
	return applied
}

func planningMode(m events.WorkKind) bool {
	return m == events.WorkPlan || m == events.WorkReplan || m == events.WorkSplit
}

// lateLessonsSince is the first version of the rules under which a predecessor that runs again already is told of one more
// complaint about its former result when it runs the next time.
const lateLessonsSince = 3

// late keeps what a run has stated after it was closed: it changes no result, but it proves that the run has ended, so its
// fence falls.
func (j *Job) late(e *events.Event, spent events.Spent, effect Effect) Effect {
	n := j.find(e.SubJob)
	if n == nil || e.Run > n.Run {
		return effect
	}
	if n.Closing != e.Run && (n.FenceAt.IsZero() || n.Fenced != e.Run) {
		return effect
	}
	j.spend(spent)
	n.Late = e.Seq
	n.Closing, n.FenceAt = 0, time.Time{}
	j.refence(n)
	if r, ok := e.Data.(*events.SubJobReported); ok && r.Outcome == events.InputDataError && n.CloseReason == closedByUpstream {
		for _, at := range n.Deps {
			if p := j.nodes[at]; p.live() && (!p.Open || j.Rules.Version >= lateLessonsSince) {
				p.Lessons = append(p.Lessons, e.Seq)
			}
		}
	}
	j.look(n)
	j.checkBudget()
	return Effect{Applied, "late: " + effect.Reason}
}

// The reason of a version that was replaced, and of a run that was closed, because a successor complained.
const (
	upstreamRerun    = "upstream_rerun"
	closedByUpstream = "a predecessor runs again"
)

// permitsSince is the first version of the rules under which who may not do its work, such as for a wrong key, is not tried again:
// that takes a person.
const permitsSince = 3

// retry issues the next run after a back-off, with the lesson of this one, or fails the node when the limit is reached, or when
// no retry can help.
func (j *Job) retry(n *node, e *events.Event, f *events.Fault, atLeast time.Duration) {
	if j.descend(n, f) {
		return
	}
	n.Attempts++
	n.Lessons = append(n.Lessons, e.Seq)
	if n.Attempts > n.RetryLimit || f.Code == events.CodeNotPermitted && j.Rules.Version >= permitsSince {
		j.failNode(n, f)
		return
	}
	n.Error = f
	if wait := max(j.backoff(n), atLeast); wait > 0 {
		n.RetryAt = j.now.Time.Add(wait)
		j.move(n, events.Waiting, "requeued")
		j.attend(n)
		return
	}
	j.again(n)
}

// again makes a node ready for its next run at once.
func (j *Job) again(n *node) {
	if n.Status == events.Running {
		j.move(n, events.Ready, "requeued")
	}
	n.Started = time.Time{}
	j.look(n)
}

// backoff doubles with each attempt up to its limit; its jitter, up to a quarter less, is a hash of job, SubJob and run, so
// that many failures at once do not return at once.
func (j *Job) backoff(n *node) time.Duration {
	wait, most := j.Rules.RetryDelay.Std(), max(j.Rules.RetryDelay.Std(), j.Rules.RetryDelayMax.Std())
	for i := 1; i < n.Attempts && wait < most; i++ {
		wait *= 2
	}
	wait = min(wait, most)
	h := fnv.New32a()
	h.Write([]byte(j.State.ID + "/" + n.ID + "/" + strconv.Itoa(n.Run)))
	return wait - wait/4*time.Duration(h.Sum32()%1024)/1024
}

// complain sends the direct predecessors of a node back to work with its lesson.
func (j *Job) complain(n *node, e *events.Event, r *events.SubJobReported) {
	f := reason(r, events.CodeInputData, "the expert could not use its inputs")
	var again []*node
	for _, at := range n.Deps {
		if p := j.nodes[at]; p.Status == events.Finished && !p.Skipped && p.workable() && !slices.ContainsFunc(p.Deps, j.dead) {
			again = append(again, p)
		}
	}
	if len(again) == 0 || n.final() {
		j.retry(n, e, f, r.RetryAfter.Std())
		return
	}
	n.Rounds++
	j.InputRounds++
	if n.Rounds > j.Rules.InputRounds || j.InputRounds > j.inputRoundLimit() {
		f.Code = events.CodeInputRounds
		f.Message = fmt.Sprintf("inputs were sent back %d times: %s", n.Rounds-1, f.Message)
		j.failNode(n, f)
		return
	}
	for _, p := range again {
		p.Lessons = append(p.Lessons, e.Seq)
	}
	j.rerun(j.downstream(again, func(n *node) bool { return n.live() || n.Status == events.Finished }), upstreamRerun)
}

func (j *Job) inputRoundLimit() int {
	if j.Rules.JobInputRounds > 0 {
		return j.Rules.JobInputRounds
	}
	return max(32, 4*j.size())
}

// rerun makes nodes run again: results become legacy versions, live runs are closed. affected has with each node all that
// depends on it.
func (j *Job) rerun(affected []*node, why string) {
	for _, n := range affected {
		j.reset(n, why)
	}
	for _, n := range affected {
		j.look(n)
	}
}

// revivable are the roots and all that depends on them, whatever has become of it, without what could not start then: that
// which depends on a FAILED or STOPPED node that is not among them.
func (j *Job) revivable(roots []*node) []*node {
	all := j.downstream(roots, func(*node) bool { return true })
	in := make(map[int32]bool, len(all))
	for _, n := range all {
		in[n.at] = true
	}
	var out []*node
	for _, n := range all {
		if slices.ContainsFunc(n.Deps, func(at int32) bool { return !in[at] && j.dead(at) }) {
			out = append(out, n)
			delete(in, n.at)
		}
	}
	// What runs again depends on what is before it, also where its last result came with the plan.
	for i := 0; i < len(out); i++ {
		for _, at := range out[i].succs {
			if in[at] {
				out = append(out, j.nodes[at])
				delete(in, at)
			}
		}
	}
	return slices.DeleteFunc(all, func(n *node) bool { return !in[n.at] })
}

// dead reports whether nothing but a request by hand lets a node run again.
func (j *Job) dead(at int32) bool {
	s := j.nodes[at].Status
	return s == events.Failed || s == events.Stopped
}

// downstream collects nodes and all that depends on them, as long as keep says so, each once. It ends at results that came
// with the plan: they do not depend on what is before them.
func (j *Job) downstream(roots []*node, keep func(*node) bool) []*node {
	seen := make(map[int32]bool, len(roots))
	var all []*node
	visit := func(n *node) {
		if !seen[n.at] && n.Status != events.Legacy && keep(n) {
			seen[n.at] = true
			all = append(all, n)
		}
	}
	for _, n := range roots {
		visit(n)
	}
	for i := 0; i < len(all); i++ {
		for _, at := range all[i].succs {
			if s := j.nodes[at]; !s.Given {
				visit(s)
			}
		}
	}
	return all
}

// reset takes a node back to CREATED.
func (j *Job) reset(n *node, why string) {
	reason := closedByUpstream
	if why != upstreamRerun {
		reason = "it runs again: " + why
	}
	j.closeRun(n, reason)
	j.withdraw(n)
	j.keepVersion(n, why)
	n.forget()
	if n.Status == events.Finished {
		for _, at := range n.succs {
			j.nodes[at].unfinished++
		}
	}
	j.move(n, events.Created, "requeued")
}

// keepVersion files the present result, or failure, as a legacy version.
func (j *Job) keepVersion(n *node, why string) {
	if n.Status.Terminal() {
		n.Versions = append(n.Versions, Version{Run: n.ResultRun, Status: n.Status, Seq: n.ResultSeq, Reason: why, Cause: j.now.Seq})
	}
}

func (j *Job) recount(n *node) {
	n.unfinished = 0
	for _, at := range n.Deps {
		if j.nodes[at].Status != events.Finished {
			n.unfinished++
		}
	}
}

// tooComplicated has a node split into a graph of its own, as long as its life cycle allows.
func (j *Job) tooComplicated(n *node, e *events.Event, r *events.SubJobReported) {
	if n.LifeCycle <= 0 || n.final() {
		f := reason(r, events.CodeLifeCycle, "too complicated")
		f.Code, f.Message = events.CodeLifeCycle, n.ID+" runs out of life cycle: "+f.Message
		f.Hint = "raise limits.life_cycle, or give a finer plan"
		j.failNode(n, f)
		return
	}
	n.LifeCycle--
	n.Attempts = 0
	n.Lessons = append(n.Lessons, e.Seq)
	n.Mode = events.WorkSplit
	j.again(n)
}

// failNode ends a node for good and lets the failure policy decide about the rest.
func (j *Job) failNode(n *node, f *events.Fault) {
	if j.descend(n, f) {
		return
	}
	j.withdraw(n)
	n.RetryAt = time.Time{}
	n.Error, n.Ended = f, j.now.Time
	j.move(n, events.Failed, "failed")
	up := *f
	up.Field = n.ID
	switch {
	case !n.step():
		if n.planning() {
			up.Field = f.Field
		}
		j.end(events.Failed, &up)
	case j.Rules.FailurePolicy == events.Continue:
		j.stopDependents(n)
	case j.Rules.FailurePolicy == events.Replan && j.plan().live(): // What is being planned takes its place.
	case j.Rules.FailurePolicy == events.Replan && j.PlanRounds < j.Rules.MaxPlanRounds:
		j.Replanning = true
		if j.now.Kind == events.KindSubJobReported {
			p := j.plan()
			p.Lessons = append(p.Lessons, j.now.Seq)
		}
	default:
		j.end(events.Failed, &up)
	}
}

// stopDependents makes everything that waits for a node STOPPED.
func (j *Job) stopDependents(n *node) {
	for _, d := range j.downstream([]*node{n}, func(d *node) bool { return d == n || d.live() }) {
		if d != n {
			j.stop(d, fault(events.CodeUnreachableAfter, n.ID+" is "+string(n.Status)))
		}
	}
}

func (j *Job) spend(s events.Spent) { j.Cost = AddSpent(j.Cost, s) }

func (j *Job) checkBudget() {
	if j.Status.Terminal() || !j.overBudget() || j.wording() {
		return
	}
	r := &j.Rules
	j.end(events.Failed, &events.Fault{
		Code:    events.CodeBudget,
		Message: fmt.Sprintf("the job spent %d tokens and %.4f USD, its budget is %d tokens and %.4f USD (0: none)", j.Cost.Tokens, j.Cost.CostUSD, r.Tokens, r.CostUSD),
		Hint:    "raise limits.tokens or limits.cost_usd",
	})
}

// overBudget reports whether more was spent than the job may spend.
func (j *Job) overBudget() bool {
	r := &j.Rules
	return r.Tokens > 0 && j.Cost.Tokens > r.Tokens || r.CostUSD > 0 && j.Cost.CostUSD > r.CostUSD
}

// reason is the fault that a report carries, made up where it has none.
func reason(r *events.SubJobReported, code events.Code, otherwise string) *events.Fault {
	f := events.Fault{Code: code, Message: otherwise}
	if r.Error != nil {
		f = *r.Error
		if f.Code == "" {
			f.Code = code
		}
	} else if r.Lesson != "" {
		f.Message = r.Lesson
	}
	f.Message, f.Cause = cut(f.Message, 500), cut(f.Cause, 500)
	return &f
}

// selectValues keeps the values that conditions of successors read in a result.
func (j *Job) selectValues(n *node, output json.RawMessage, selected map[string]json.RawMessage) {
	if len(n.Selects) == 0 {
		return
	}
	n.Selected = make(map[string]json.RawMessage, len(n.Selects))
	for _, path := range n.Selects {
		raw, ok := selected[path]
		if !ok && len(output) > 0 {
			raw, ok = Select(output, path)
		}
		if j.Rules.Version >= sizesSince {
			raw = Compared(raw)
		}
		if ok && (len(raw) <= maxSelected || j.Rules.Version >= sizesSince) {
			n.Selected[path] = raw
		}
	}
}

// sizesSince is the first version of the rules under which a long value counts in conditions.
const sizesSince = 4

// maxSelected bounds a value that is kept for conditions as it is, in bytes.
const maxSelected = 256
