package graph

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// inputRequested parks a run: the work message was given back, and a new run comes with the answer.
func (j *Job) inputRequested(e *events.Event) Effect {
	n, effect := j.run(e)
	d, ok := e.Data.(*events.InputRequested)
	if n == nil {
		var spent events.Spent
		if ok {
			spent = d.Spent
		}
		return j.late(e, spent, effect)
	}
	j.endRun(n)
	if !ok {
		j.retry(n, e, e.Fault, 0)
		return applied
	}
	j.spend(d.Spent)
	if _, used := j.inputs[d.Request]; used {
		f := fault(events.CodeDuplicateID, "the job has asked request "+d.Request+" before")
		f.Hint = "make the id of a request from that of its run"
		j.retry(n, e, f, 0)
		j.checkBudget()
		return applied
	}
	in := &InputState{Request: d.Request, SubJob: n.ID, Run: e.Run, Kind: d.Kind, Seq: e.Seq, User: d.User, Default: d.Default}
	if d.ExpiresIn > 0 || d.Kind == events.InputTimer { // A moment that is not named is now.
		in.Expires = e.Time.Add(d.ExpiresIn.Std())
	}
	in.at = len(j.Inputs)
	j.Inputs = append(j.Inputs, in)
	j.inputs[in.Request] = in
	n.Request, n.ResumeOf = d.Request, e.Run
	if n.step() {
		j.asking++
	}
	j.move(n, events.Waiting, "waiting")
	j.attendInput(in)
	j.checkBudget()
	return applied
}

// attendInput puts a request on the list of those that may owe a command.
func (j *Job) attendInput(in *InputState) {
	if !in.due {
		in.due = true
		j.dueInputs = append(j.dueInputs, in)
	}
}

// settleInput takes a request off the list of open ones.
func (j *Job) settleInput(in *InputState) {
	last := len(j.Inputs) - 1
	j.Inputs[in.at] = j.Inputs[last]
	j.Inputs[in.at].at = in.at
	j.Inputs[last] = nil
	j.Inputs = j.Inputs[:last]
	j.useUp(in.Request)
}

// useUp keeps that a request was closed, also one that was never heard of: nobody could answer it any more.
func (j *Job) useUp(request string) {
	j.inputs[request] = nil
	j.Asked = append(j.Asked, request)
}

// inputClosed hands the answer to whoever asked. One that cannot be read cancels the request: the broker has closed its
// subject, no other answer can follow.
func (j *Job) inputClosed(e *events.Event) Effect {
	d, ok := e.Data.(*events.InputClosed)
	if !ok {
		d = &events.InputClosed{Action: events.Cancelled}
	}
	in, used := j.inputs[e.Key]
	if in == nil {
		if !used {
			j.useUp(e.Key)
		}
		return ignored("no request %q is open", e.Key)
	}
	j.settleInput(in)
	n := j.find(in.SubJob)
	if n == nil || n.Request != in.Request || j.Status.Terminal() {
		return applied
	}
	j.release(n)
	switch {
	case d.Action == events.Answered, d.Action == events.Expired && (in.Kind == events.InputTimer || len(d.Answer) > 0):
		n.Answers = append(n.Answers, e.Seq)
		j.look(n)
	case d.Action == events.Expired:
		j.failNode(n, &events.Fault{Code: events.CodeTimeout, Message: "nobody answered request " + in.Request + " in time", Hint: "retry the SubJob to ask again"})
	case e.Fault != nil:
		j.failNode(n, &events.Fault{Code: events.CodeMalformed, Message: "the answer to request " + in.Request + " cannot be read", Cause: e.Fault.Cause, Hint: "retry the SubJob to ask again"})
	default:
		j.failNode(n, fault(events.CodeCancelled, "request "+in.Request+" was cancelled"))
	}
	return applied
}

func (j *Job) release(n *node) {
	n.Request = ""
	if n.step() {
		j.asking--
	}
}

// withdraw closes the question that a node waits with, because nobody needs the answer any more.
func (j *Job) withdraw(n *node) {
	if n.Request == "" {
		return
	}
	if in := j.inputs[n.Request]; in != nil && in.Closing == "" {
		in.Closing = events.Cancelled
		j.attendInput(in)
	}
	j.release(n)
}

// fired applies a due timer. One that nobody waits for any more changes nothing.
func (j *Job) fired(d *events.TimerFired) Effect {
	kind, subjob, number := parseTimer(d.Timer)
	n := j.find(subjob)
	switch {
	case kind == timerDeadline && number == j.Epoch && !j.Status.Terminal():
		j.end(events.Failed, &events.Fault{Code: events.CodeDeadline, Message: "the job took longer than " + j.Rules.Deadline.Std().String(), Hint: "raise limits.deadline and recover the job"})
	case kind == timerReap && number == j.Turn && j.Status.Terminal():
		j.Reaping = true
	case kind == timerInput:
		return j.expired(subjob)
	case kind == timerTurn:
	case n == nil || j.Status.Terminal() && kind != timerFence:
		return ignored("nobody waits for timer %s", d.Timer)
	case kind == timerRetry && number == n.Run && !n.RetryAt.IsZero():
		n.RetryAt = time.Time{}
		j.look(n)
	case kind == timerFence && number == n.Fenced && !n.FenceAt.IsZero():
		n.FenceAt = time.Time{}
		j.refence(n)
		j.look(n)
	case kind == timerTimeout && number == n.Run && n.Open && n.Status == events.Running && n.Timeout > 0:
		j.closeRun(n, "it took longer than "+n.Timeout.Std().String())
		j.retry(n, j.now, fault(events.CodeTimeout, "the run took longer than "+n.Timeout.Std().String()), 0)
	default:
		return ignored("nobody waits for timer %s", d.Timer)
	}
	return applied
}

func (j *Job) expired(request string) Effect {
	in := j.inputs[request]
	if in == nil || in.Closing != "" {
		return ignored("no request %q is open", request)
	}
	in.Closing = events.Expired
	j.attendInput(in)
	return applied
}
