package graph

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Pending gives what this state still owes the world and this process has not delivered yet, in the order in which it has
// to be delivered. After Sent, Pending is asked again until it is empty: a large graph owes in batches, and the end of a job
// is owed only once every run it takes down is closed.
func (j *Job) Pending() []Command {
	var closes, rest []Command
	if len(j.attention) > 4 {
		rest = make([]Command, 0, min(len(j.attention), batch)+4)
	}
	keep, all := j.attention[:0], true
	for i, at := range j.attention {
		if all = len(closes)+len(rest) < batch; !all {
			keep = append(keep, j.attention[i:]...)
			break
		}
		n := j.nodes[at]
		before := len(closes) + len(rest)
		if n.Closing != 0 && n.sent.close != n.Closing {
			closes = append(closes, Command{CommandID: CommandID{Kind: CloseRun, SubJob: n.ID, Run: n.Closing}, Reason: n.CloseReason})
		}
		rest = j.pendingRun(n, rest)
		rest = j.pendingTimers(n, rest)
		if len(closes)+len(rest) == before {
			n.attention = false
			continue
		}
		keep = append(keep, at)
	}
	j.attention = keep
	rest = j.pendingInputs(rest)
	rest = j.pendingJob(rest)
	switch {
	case len(closes) > 0:
		return append(closes, rest...)
	case all:
		return j.pendingEnd(rest)
	}
	return rest
}

// batch is how many commands about SubJobs Pending gives at a time: enough to keep a bus busy, few enough to stay in a
// processor's cache.
const batch = 1024

func (j *Job) pendingRun(n *node, out []Command) []Command {
	if !n.owesRun() || !j.admits(n) || !j.passes(n) {
		return out
	}
	return append(out, Command{CommandID: CommandID{Kind: RunSubJob, SubJob: n.ID, Run: n.Run}, Order: j.order(n)})
}

func (j *Job) order(n *node) *Order {
	o := &Order{
		Kind: n.Mode, Pool: n.Pool, Expert: n.Expert, Attempt: n.Attempts + 1, ResumeOf: n.ResumeOf, Spec: n.Spec,
		Lessons: n.Lessons, Answers: n.Answers, Select: n.Selects, LifeCycle: n.LifeCycle, Deadline: j.Deadline,
		Session: n.Session,
	}
	if o.Kind == "" {
		o.Kind = events.WorkExecute
	}
	if planningMode(o.Kind) {
		o.Pool, o.Expert, o.PlanVersion = events.PlannerPool, events.PlannerExpert, j.PlanVersion
	}
	if o.Kind == events.WorkReplan {
		for _, m := range j.nodesIn(events.Finished) {
			o.Finished = append(o.Finished, m.ID)
		}
	}
	if len(n.Deps) > 0 {
		o.Inputs = make([]Input, 0, len(n.Deps))
	}
	for _, at := range n.Deps {
		d := j.nodes[at]
		in := Input{SubJob: d.ID, Run: d.ResultRun, Seq: d.ResultSeq, Skipped: d.Skipped}
		if d.Given {
			in.Spec = d.Spec
		}
		o.Inputs = append(o.Inputs, in)
	}
	if n.final() {
		j.carried(n, o)
	}
	return o
}

func (j *Job) pendingTimers(n *node, out []Command) []Command {
	arm := func(kind string, number int, at time.Time) Command {
		return Command{CommandID: CommandID{Kind: ArmTimer, SubJob: n.ID, Run: number, Key: timerID(kind, n.ID, number)}, At: at}
	}
	if !n.FenceAt.IsZero() && n.sent.fence != n.Fenced && !j.Status.Terminal() {
		out = append(out, arm(timerFence, n.Fenced, n.FenceAt))
	}
	if !n.RetryAt.IsZero() && n.sent.retry != n.Run {
		out = append(out, arm(timerRetry, n.Run, n.RetryAt))
	}
	if n.Open && n.Status == events.Running && n.Timeout > 0 && n.sent.timeout != n.Run {
		out = append(out, arm(timerTimeout, n.Run, n.Started.Add(n.Timeout.Std()+j.Rules.LeaseMargin.Std())))
	}
	return out
}

func (j *Job) pendingInputs(out []Command) []Command {
	keep := j.dueInputs[:0]
	for _, in := range j.dueInputs {
		if j.inputs[in.Request] != in {
			continue
		}
		id := CommandID{Kind: CloseInput, SubJob: in.SubJob, Run: in.Run, Key: in.Request}
		switch {
		case in.Closing != "" && !in.sent:
			closed := &events.InputClosed{Action: in.Closing}
			if in.Closing == events.Expired {
				closed.Answer = in.Default
			}
			out = append(out, Command{CommandID: id, Fact: events.KindInputClosed, Data: closed})
		case in.Closing == "" && !in.Expires.IsZero() && !in.armed:
			id.Kind, id.Key = ArmTimer, timerID(timerInput, in.Request, in.Run)
			out = append(out, Command{CommandID: id, At: in.Expires})
		default:
			in.due = false
			continue
		}
		keep = append(keep, in)
	}
	j.dueInputs = keep
	return out
}

func factID(f Fact) CommandID { return CommandID{Kind: StateFact, Key: string(f.Kind) + "~" + f.Key} }

func (j *Job) pendingJob(out []Command) []Command {
	for i, f := range j.Facts {
		if !j.sent.facts[i] {
			out = append(out, Command{CommandID: factID(f), Fact: f.Kind, Data: f.Data})
		}
	}
	if j.Rules.Deadline > 0 && !j.Status.Terminal() && j.sent.deadline != j.Epoch {
		out = append(out, Command{CommandID: CommandID{Kind: ArmTimer, Run: j.Epoch, Key: timerID(timerDeadline, "", j.Epoch)}, At: j.Deadline})
	}
	if j.Status.Terminal() && !j.EndOwed && j.Rules.Retention > 0 && !j.Reaping && j.sent.reap != j.Turn {
		out = append(out, Command{CommandID: CommandID{Kind: ArmTimer, Run: j.Turn, Key: timerID(timerReap, "", j.Turn)}, At: j.Ended.Add(j.Rules.Retention.Std())})
	}
	if j.Reaping && j.sent.reaped != j.Turn {
		out = append(out, Command{CommandID: CommandID{Kind: ReapJob, Run: j.Turn}})
	}
	return out
}

func (j *Job) pendingEnd(out []Command) []Command {
	if !j.EndOwed || j.sent.end == j.Turn {
		return out
	}
	c := Command{CommandID: CommandID{Kind: EndJob, Run: j.Turn}, Fact: movedTo(j.Status), Expect: j.ControlSeq, PurgeTimers: j.timersMayBeArmed()}
	ended := &events.JobEnded{
		JobMoved: events.JobMoved{Status: j.Status, Turn: j.Turn, Cause: j.EndCause},
		Error:    j.Error, DurationMS: j.Ended.Sub(j.Created).Milliseconds(), Spent: j.Cost,
	}
	if j.Error != nil {
		ended.Reason = j.Error.Message
	}
	c.Data = ended
	c.Tails = j.resultInputs()
	return append(out, c)
}

// resultInputs says where the job's result stands: an answer, what the final expert made, or the tails.
func (j *Job) resultInputs() []Input {
	if j.AnswerSeq != 0 {
		return []Input{{SubJob: events.PlanID, Run: j.plan().Run, Seq: j.AnswerSeq}}
	}
	if f := j.find(events.FinalID); f != nil && f.ResultSeq != 0 && f.Status.Terminal() && j.Status == events.Finished {
		return []Input{{SubJob: f.ID, Run: f.ResultRun, Seq: f.ResultSeq}}
	}
	if j.finale() == "none" {
		return nil
	}
	var inputs []Input
	for _, id := range j.State.Tails {
		n := j.find(id)
		in := Input{SubJob: n.ID, Run: n.ResultRun, Seq: n.ResultSeq}
		if n.Given {
			in.Spec = n.Spec
		}
		inputs = append(inputs, in)
	}
	return inputs
}

func (j *Job) timersMayBeArmed() bool {
	if j.Rules.Deadline > 0 || len(j.Inputs) > 0 || j.Epoch > 1 {
		return true
	}
	for _, n := range j.nodes {
		if n.Run > 1 || n.Timeout > 0 || !n.FenceAt.IsZero() || !n.RetryAt.IsZero() || len(n.Answers) > 0 {
			return true
		}
	}
	return false
}

// Sent tells the job what this process has delivered. It is never stored: a cold start owes the rest again.
func (j *Job) Sent(ids ...CommandID) {
	for _, id := range ids {
		switch id.Kind {
		case RunSubJob:
			j.sentNode(id, func(n *node) *int { return &n.sent.run })
		case CloseRun:
			j.sentNode(id, func(n *node) *int { return &n.sent.close })
		case ArmTimer:
			j.sentTimer(id)
		case CloseInput:
			if in := j.inputs[id.Key]; in != nil {
				in.sent = true
			}
		case StateFact:
			j.sentFact(id)
		case EndJob:
			j.sent.end = id.Run
		case ReapJob:
			j.sent.reaped = id.Run
		}
	}
}

func (j *Job) sentNode(id CommandID, mark func(*node) *int) {
	if n := j.find(id.SubJob); n != nil {
		*mark(n) = id.Run
	}
}

func (j *Job) sentFact(id CommandID) {
	for i, f := range j.Facts {
		if factID(f) == id {
			j.sent.facts[i] = true
		}
	}
}

func (j *Job) sentTimer(id CommandID) {
	switch kind, of, number := parseTimer(id.Key); kind {
	case timerDeadline:
		j.sent.deadline = number
	case timerReap:
		j.sent.reap = number
	case timerFence:
		j.sentNode(id, func(n *node) *int { return &n.sent.fence })
	case timerRetry:
		j.sentNode(id, func(n *node) *int { return &n.sent.retry })
	case timerTimeout:
		j.sentNode(id, func(n *node) *int { return &n.sent.timeout })
	case timerInput:
		if in := j.inputs[of]; in != nil {
			in.armed = true
		}
	}
}
