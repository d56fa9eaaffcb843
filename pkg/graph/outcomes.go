package graph

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// outcomes decides what follows the end of a run: a success, a retry after a back-off, a rerun of its predecessors, a split, a
// wait for an answer, or a failure; and whether the budget still allows it.
type outcomes struct {
	job       *State
	now       *events.Event
	dag       *dag
	runs      *runs
	waits     *waits
	finale    *finale
	lifecycle *lifecycle
}

func planningMode(m events.WorkKind) bool {
	return m == events.WorkPlan || m == events.WorkReplan || m == events.WorkSplit
}

// lateLessonsSince is the first version of the rules in which a predecessor that already runs again also receives a later complaint
// about its former result, as a lesson for its next run.
const lateLessonsSince = 3

// permitsSince is the first version of the rules in which missing permissions, such as a wrong key, are not retried: a person must
// correct them.
const permitsSince = 3

// reason returns the fault of a report, or a substitute if it has none.
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

// inputRequested parks a run: the work message was given back, and a new run starts with the answer.
func (o *outcomes) inputRequested(e *events.Event) Effect {
	n, effect := o.runs.find(e)
	d, ok := e.Data.(*events.InputRequested)
	if n == nil {
		var spent events.Spent
		if ok {
			spent = d.Spent
		}
		return o.late(e, spent, effect)
	}
	o.runs.end(n)
	if !ok {
		o.retry(n, e, e.Fault, 0)
		return applied
	}
	o.spend(d.Spent)
	if _, used := o.waits.inputs[d.Request]; used {
		f := fault(events.CodeDuplicateID, "the job has asked request "+d.Request+" before")
		f.Hint = "make the id of a request from that of its run"
		o.retry(n, e, f, 0)
		o.checkBudget()
		return applied
	}
	in := &InputState{Request: d.Request, SubJob: n.ID, Run: e.Run, Kind: d.Kind, Seq: e.Seq, User: d.User, Default: d.Default}
	switch {
	case d.ExpiresIn > 0 || d.Kind == events.InputTimer: // A missing time means now.
		in.Expires = e.Time.Add(d.ExpiresIn.Std())
	case o.job.Rules.Answer > 0:
		in.Expires = e.Time.Add(o.job.Rules.Answer.Std())
	}
	o.waits.open(in, n)
	o.runs.move(n, events.Waiting, "waiting")
	o.checkBudget()
	return applied
}

// inputClosed passes the answer to the SubJob that asked. An unreadable answer cancels the request: the broker has closed its
// subject, so no other answer can follow.
func (o *outcomes) inputClosed(e *events.Event) Effect {
	d, ok := e.Data.(*events.InputClosed)
	if !ok {
		d = &events.InputClosed{Action: events.Cancelled}
	}
	in, used := o.waits.inputs[e.Key]
	if in == nil {
		if !used {
			o.waits.useUp(e.Key)
		}
		return ignored("no request %q is open", e.Key)
	}
	o.waits.settle(in)
	n := o.dag.find(in.SubJob)
	if n == nil || n.Request != in.Request || o.job.Status.Terminal() {
		return applied
	}
	o.waits.release(n)
	switch {
	case d.Action == events.Answered, d.Action == events.Expired && (in.Kind == events.InputTimer || len(d.Answer) > 0):
		n.Answers = append(n.Answers, e.Seq)
		o.runs.look(n)
	case d.Action == events.Expired:
		o.fail(n, &events.Fault{Code: events.CodeTimeout, Message: "nobody answered request " + in.Request + " in time", Hint: "retry the SubJob to ask again"})
	case e.Fault != nil:
		o.fail(n, &events.Fault{Code: events.CodeMalformed, Message: "the answer to request " + in.Request + " cannot be read", Cause: e.Fault.Cause, Hint: "retry the SubJob to ask again"})
	default:
		o.fail(n, fault(events.CodeCancelled, "request "+in.Request+" was cancelled"))
	}
	return applied
}

// fired applies a fired timer. A stale one changes nothing.
func (o *outcomes) fired(d *events.TimerFired) Effect {
	kind, subjob, number := parseTimer(d.Timer)
	n := o.dag.find(subjob)
	switch {
	case kind == timerDeadline && number == o.job.Epoch && !o.job.Status.Terminal():
		o.lifecycle.end(events.Failed, &events.Fault{Code: events.CodeDeadline, Message: "the job took longer than " + o.job.Rules.Deadline.Std().String(), Hint: "raise limits.deadline and recover the job"})
	case kind == timerReap && number == o.job.Turn && o.job.Status.Terminal():
		o.job.Reaping = true
	case kind == timerInput:
		return o.waits.expire(subjob)
	case kind == timerTurn:
	case n == nil || o.job.Status.Terminal() && kind != timerFence:
		return ignored("no step waits for timer %s", d.Timer)
	case kind == timerRetry && number == n.Run && !n.RetryAt.IsZero():
		n.RetryAt = time.Time{}
		o.runs.look(n)
	case kind == timerFence && number == n.Fenced && !n.FenceAt.IsZero():
		n.FenceAt = time.Time{}
		o.runs.refence(n)
		o.runs.look(n)
	case kind == timerTimeout && number == n.Run && n.Open && n.Status == events.Running && n.Timeout > 0:
		o.runs.close(n, "it took longer than "+n.Timeout.Std().String())
		o.retry(n, o.now, fault(events.CodeTimeout, "the run took longer than "+n.Timeout.Std().String()), 0)
	default:
		return ignored("no step waits for timer %s", d.Timer)
	}
	return applied
}

// reported applies the end of a run. The first closing fact of a run counts; any other is recorded as late.
func (o *outcomes) reported(e *events.Event) Effect {
	r := e.Report()
	n, effect := o.runs.find(e)
	if n == nil {
		return o.late(e, r.Spent, effect)
	}
	if o.job.Status.Terminal() {
		return ignored("the job is %s", o.job.Status)
	}
	o.runs.end(n)
	o.spend(r.Spent)
	if planningMode(n.Mode) {
		o.retry(n, e, fault(events.CodeExecution, "a planning run has to answer with a graph, a rejection or an answer, not with a report"), 0)
		o.checkBudget()
		return applied
	}
	switch r.Outcome {
	case events.Success:
		n.ResultSeq, n.ResultRun = e.Seq, e.Run
		if o.finale.relay(n) {
			break
		}
		o.runs.selectValues(n, r.Output, r.Selected)
		o.runs.complete(n, "completed")
		if n.final() {
			o.lifecycle.end(events.Finished, nil)
		}
	case events.InputDataError:
		o.complain(n, e, r)
	case events.TooComplicated:
		o.tooComplicated(n, e, r)
	default:
		o.retry(n, e, reason(r, events.CodeExecution, "the expert reported an error"), r.RetryAfter.Std())
	}
	o.checkBudget()
	return applied
}

// late records what a run reported after it was closed: it changes no result, but proves that the run has ended, so its fence
// ends.
func (o *outcomes) late(e *events.Event, spent events.Spent, effect Effect) Effect {
	n := o.dag.find(e.SubJob)
	if n == nil || e.Run > n.Run {
		return effect
	}
	if n.Closing != e.Run && (n.FenceAt.IsZero() || n.Fenced != e.Run) {
		return effect
	}
	o.spend(spent)
	n.Late = e.Seq
	n.Closing, n.FenceAt = 0, time.Time{}
	o.runs.refence(n)
	if r, ok := e.Data.(*events.SubJobReported); ok && r.Outcome == events.InputDataError && n.CloseReason == closedByUpstream {
		for _, at := range n.Deps {
			if p := o.dag.nodes[at]; p.live() && (!p.Open || o.job.Rules.Version >= lateLessonsSince) {
				p.Lessons = append(p.Lessons, e.Seq)
			}
		}
	}
	o.runs.look(n)
	o.checkBudget()
	return Effect{Applied, "late: " + effect.Reason}
}

// retry issues the next run after a back-off, with the lesson of this one, or fails the node when the limit is reached, or when
// no retry can help.
func (o *outcomes) retry(n *node, e *events.Event, f *events.Fault, atLeast time.Duration) {
	if o.finale.descend(n, f) {
		return
	}
	n.Attempts++
	n.Lessons = append(n.Lessons, e.Seq)
	if n.Attempts > n.RetryLimit || f.Code == events.CodeNotPermitted && o.job.Rules.Version >= permitsSince {
		o.fail(n, f)
		return
	}
	n.Error = f
	if wait := max(o.backoff(n), atLeast); wait > 0 {
		o.runs.delay(n, wait)
		return
	}
	o.runs.again(n)
}

// backoff doubles with each attempt up to its limit. Its jitter, up to a quarter less, is a hash of job, SubJob and run, so that
// simultaneous failures do not retry simultaneously.
func (o *outcomes) backoff(n *node) time.Duration {
	wait, most := o.job.Rules.RetryDelay.Std(), max(o.job.Rules.RetryDelay.Std(), o.job.Rules.RetryDelayMax.Std())
	for i := 1; i < n.Attempts && wait < most; i++ {
		wait *= 2
	}
	wait = min(wait, most)
	h := fnv.New32a()
	h.Write([]byte(o.job.ID + "/" + n.ID + "/" + strconv.Itoa(n.Run)))
	return wait - wait/4*time.Duration(h.Sum32()%1024)/1024
}

// complain sends the direct predecessors of a node back to work with its lesson.
func (o *outcomes) complain(n *node, e *events.Event, r *events.SubJobReported) {
	f := reason(r, events.CodeInputData, "the expert could not use its inputs")
	var again []*node
	for _, at := range n.Deps {
		if p := o.dag.nodes[at]; p.Status == events.Finished && !p.Skipped && p.workable() && !slices.ContainsFunc(p.Deps, o.dag.dead) {
			again = append(again, p)
		}
	}
	if len(again) == 0 || n.final() {
		o.retry(n, e, f, r.RetryAfter.Std())
		return
	}
	n.Rounds++
	o.job.InputRounds++
	if n.Rounds > o.job.Rules.InputRounds || o.job.InputRounds > o.inputRoundLimit() {
		f.Code = events.CodeInputRounds
		f.Message = fmt.Sprintf("inputs were sent back %d times: %s", n.Rounds-1, f.Message)
		o.fail(n, f)
		return
	}
	for _, p := range again {
		p.Lessons = append(p.Lessons, e.Seq)
	}
	o.runs.rerun(o.dag.downstream(again, func(n *node) bool { return n.live() || n.Status == events.Finished }), upstreamRerun)
}

func (o *outcomes) inputRoundLimit() int {
	if o.job.Rules.JobInputRounds > 0 {
		return o.job.Rules.JobInputRounds
	}
	return max(32, 4*o.dag.size())
}

// tooComplicated makes the planner split a node, as long as its life cycle permits.
func (o *outcomes) tooComplicated(n *node, e *events.Event, r *events.SubJobReported) {
	if n.LifeCycle <= 0 || n.final() {
		f := reason(r, events.CodeLifeCycle, "too complicated")
		f.Code, f.Message = events.CodeLifeCycle, n.ID+" runs out of life cycle: "+f.Message
		f.Hint = "raise limits.life_cycle, or give a finer plan"
		o.fail(n, f)
		return
	}
	n.LifeCycle--
	n.Attempts = 0
	n.Lessons = append(n.Lessons, e.Seq)
	n.Mode = events.WorkSplit
	o.runs.again(n)
}

// fail fails a node for good; the failure policy decides about the rest.
func (o *outcomes) fail(n *node, f *events.Fault) {
	if o.finale.descend(n, f) {
		return
	}
	o.waits.withdraw(n)
	n.RetryAt = time.Time{}
	n.Error, n.Ended = f, o.now.Time
	o.runs.move(n, events.Failed, "failed")
	up := *f
	up.Field = n.ID
	switch {
	case !n.step():
		if n.planning() {
			up.Field = f.Field
		}
		o.lifecycle.end(events.Failed, &up)
	case o.job.Rules.FailurePolicy == events.Continue:
		o.stopDependents(n)
	case o.job.Rules.FailurePolicy == events.Replan && o.dag.plan().live(): // The plan in preparation will replace the node.
	case o.job.Rules.FailurePolicy == events.Replan && o.job.PlanRounds < o.job.Rules.MaxPlanRounds:
		o.job.Replanning = true
		if o.now.Kind == events.KindSubJobReported {
			p := o.dag.plan()
			p.Lessons = append(p.Lessons, o.now.Seq)
		}
	default:
		o.lifecycle.end(events.Failed, &up)
	}
}

// stopDependents makes all dependents of a node STOPPED.
func (o *outcomes) stopDependents(n *node) {
	for _, d := range o.dag.downstream([]*node{n}, func(d *node) bool { return d == n || d.live() }) {
		if d != n {
			o.runs.stop(d, fault(events.CodeUnreachableAfter, n.ID+" is "+string(n.Status)))
		}
	}
}

func (o *outcomes) spend(s events.Spent) { o.job.Cost = AddSpent(o.job.Cost, s) }

func (o *outcomes) checkBudget() {
	if o.job.Status.Terminal() || !overBudget(o.job) || o.finale.wording() {
		return
	}
	r := &o.job.Rules
	o.lifecycle.end(events.Failed, &events.Fault{
		Code:    events.CodeBudget,
		Message: fmt.Sprintf("the job spent %d tokens and %.4f USD, its budget is %d tokens and %.4f USD (0: none)", o.job.Cost.Tokens, o.job.Cost.CostUSD, r.Tokens, r.CostUSD),
		Hint:    "raise limits.tokens or limits.cost_usd",
	})
}

// overBudget reports whether the job has exceeded its budget.
func overBudget(s *State) bool {
	r := &s.Rules
	return r.Tokens > 0 && s.Cost.Tokens > r.Tokens || r.CostUSD > 0 && s.Cost.CostUSD > r.CostUSD
}
