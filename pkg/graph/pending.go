package graph

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Pending returns the commands that this state requires and this process has not delivered yet, in the order of delivery. Call it
// again after Sent until it is empty: a large graph yields several batches, and the end of a job comes only after every run that it
// closes is closed.
func (j *Job) Pending() []Command {
	var closes, rest []Command
	if len(j.outbox.attention) > 4 {
		rest = make([]Command, 0, min(len(j.outbox.attention), batch)+4)
	}
	keep, all := j.outbox.attention[:0], true
	for i, at := range j.outbox.attention {
		if all = len(closes)+len(rest) < batch; !all {
			keep = append(keep, j.outbox.attention[i:]...)
			break
		}
		n := j.dag.nodes[at]
		before := len(closes) + len(rest)
		if n.Closing != 0 && n.sent.close != n.Closing {
			closes = append(closes, Command{CommandID: CommandID{Kind: CloseRun, SubJob: n.ID, Run: n.Closing}, Pool: n.PoolOf(n.Closing), Reason: n.CloseReason})
		}
		rest = j.commands.run(n, rest)
		rest = j.commands.timers(n, rest)
		if len(closes)+len(rest) == before {
			n.attention = false
			continue
		}
		keep = append(keep, at)
	}
	j.outbox.attention = keep
	rest = j.waits.pending(rest)
	rest = j.commands.whole(rest)
	switch {
	case len(closes) > 0:
		return append(closes, rest...)
	case all:
		return j.commands.end(rest)
	}
	return rest
}

// batch is the maximum number of SubJob commands that Pending returns at a time: enough to keep a bus busy, few enough for a
// processor's cache.
const batch = 1024

// commands makes the pending commands, in order.
type commands struct {
	job    *State
	dag    *dag
	outbox *outbox
	queues *queues
	waits  *waits
	finale *finale
}

func (cm *commands) run(n *node, out []Command) []Command {
	if !n.runPending() || !cm.queues.admits(n) || !cm.queues.passes(n) {
		return out
	}
	return append(out, Command{CommandID: CommandID{Kind: RunSubJob, SubJob: n.ID, Run: n.Run}, Order: cm.order(n)})
}

func (cm *commands) order(n *node) *Order {
	o := &Order{
		Kind: n.Mode, Pool: n.Pool, Expert: n.Expert, Attempt: n.Attempts + 1, ResumeOf: n.ResumeOf, Spec: n.Spec,
		Lessons: n.Lessons, Answers: n.Answers, Select: n.Selects, LifeCycle: n.LifeCycle, Deadline: cm.job.Deadline,
		Session: n.Session, Former: n.Former,
	}
	if o.Kind == "" {
		o.Kind = events.WorkExecute
	}
	if planningMode(o.Kind) {
		o.Pool, o.Expert, o.PlanVersion = events.PlannerPool, events.PlannerExpert, cm.job.PlanVersion
	}
	if o.Kind == events.WorkReplan {
		for _, m := range cm.dag.in(events.Finished) {
			o.Finished = append(o.Finished, m.ID)
		}
	}
	if len(n.Deps) > 0 {
		o.Inputs = make([]Input, 0, len(n.Deps))
	}
	for _, at := range n.Deps {
		d := cm.dag.nodes[at]
		in := Input{SubJob: d.ID, Run: d.ResultRun, Seq: d.ResultSeq, Skipped: d.Skipped}
		if d.Given {
			in.Spec = d.Spec
		}
		o.Inputs = append(o.Inputs, in)
	}
	if n.final() {
		cm.finale.carried(n, o)
	}
	return o
}

func (cm *commands) timers(n *node, out []Command) []Command {
	arm := func(kind string, number int, at time.Time) Command {
		return Command{CommandID: CommandID{Kind: ArmTimer, SubJob: n.ID, Run: number, Key: timerID(kind, n.ID, number)}, At: at}
	}
	if !n.FenceAt.IsZero() && n.sent.fence != n.Fenced && !cm.job.Status.Terminal() {
		out = append(out, arm(timerFence, n.Fenced, n.FenceAt))
	}
	if !n.RetryAt.IsZero() && n.sent.retry != n.Run {
		out = append(out, arm(timerRetry, n.Run, n.RetryAt))
	}
	if n.Open && n.Status == events.Running && n.Timeout > 0 && n.sent.timeout != n.Run {
		out = append(out, arm(timerTimeout, n.Run, n.Started.Add(n.Timeout.Std()+cm.job.Rules.LeaseMargin.Std())))
	}
	return out
}

func (cm *commands) whole(out []Command) []Command {
	out = cm.outbox.facts(out)
	if cm.job.Rules.Deadline > 0 && !cm.job.Status.Terminal() && cm.outbox.sent.deadline != cm.job.Epoch {
		out = append(out, Command{CommandID: CommandID{Kind: ArmTimer, Run: cm.job.Epoch, Key: timerID(timerDeadline, "", cm.job.Epoch)}, At: cm.job.Deadline})
	}
	if cm.job.Status.Terminal() && !cm.job.EndOwed && cm.job.Rules.Retention > 0 && !cm.job.Reaping && cm.outbox.sent.reap != cm.job.Turn {
		out = append(out, Command{CommandID: CommandID{Kind: ArmTimer, Run: cm.job.Turn, Key: timerID(timerReap, "", cm.job.Turn)}, At: cm.job.Ended.Add(cm.job.Rules.Retention.Std())})
	}
	if cm.job.Reaping && cm.outbox.sent.reaped != cm.job.Turn {
		out = append(out, Command{CommandID: CommandID{Kind: ReapJob, Run: cm.job.Turn}})
	}
	return out
}

func (cm *commands) end(out []Command) []Command {
	if !cm.job.EndOwed || cm.outbox.sent.end == cm.job.Turn {
		return out
	}
	c := Command{CommandID: CommandID{Kind: EndJob, Run: cm.job.Turn}, Fact: movedTo(cm.job.Status), Expect: cm.job.ControlSeq, PurgeTimers: cm.timersMayBeArmed()}
	ended := &events.JobEnded{
		JobMoved: events.JobMoved{Status: cm.job.Status, Turn: cm.job.Turn, Cause: cm.job.EndCause},
		Outcome:  cm.job.Outcome,
		Error:    cm.job.Error, DurationMS: cm.job.Ended.Sub(cm.job.Created).Milliseconds(), Spent: cm.job.Cost,
	}
	if cm.job.Error != nil {
		ended.Reason = cm.job.Error.Message
	}
	c.Data = ended
	c.Tails = cm.finale.inputs()
	return append(out, c)
}

func (cm *commands) timersMayBeArmed() bool {
	if cm.job.Rules.Deadline > 0 || len(cm.job.Inputs) > 0 || cm.job.Epoch > 1 {
		return true
	}
	for _, n := range cm.dag.nodes {
		if n.Run > 1 || n.Timeout > 0 || !n.FenceAt.IsZero() || !n.RetryAt.IsZero() || len(n.Answers) > 0 {
			return true
		}
	}
	return false
}

// Sent records what this process has delivered. It is never stored: after a cold start everything is pending again.
func (j *Job) Sent(ids ...CommandID) {
	for _, id := range ids {
		switch id.Kind {
		case RunSubJob:
			j.commands.sentNode(id, func(n *node) *int { return &n.sent.run })
		case CloseRun:
			j.commands.sentNode(id, func(n *node) *int { return &n.sent.close })
		case ArmTimer:
			j.commands.sentTimer(id)
		case CloseInput:
			j.waits.sent(id.Key)
		case StateFact:
			j.outbox.sentFact(id)
		case EndJob:
			j.outbox.sent.end = id.Run
		case ReapJob:
			j.outbox.sent.reaped = id.Run
		}
	}
}

func (cm *commands) sentNode(id CommandID, mark func(*node) *int) {
	if n := cm.dag.find(id.SubJob); n != nil {
		*mark(n) = id.Run
	}
}

func (cm *commands) sentTimer(id CommandID) {
	switch kind, of, number := parseTimer(id.Key); kind {
	case timerDeadline:
		cm.outbox.sent.deadline = number
	case timerReap:
		cm.outbox.sent.reap = number
	case timerFence:
		cm.sentNode(id, func(n *node) *int { return &n.sent.fence })
	case timerRetry:
		cm.sentNode(id, func(n *node) *int { return &n.sent.retry })
	case timerTimeout:
		cm.sentNode(id, func(n *node) *int { return &n.sent.timeout })
	case timerInput:
		cm.waits.armed(of)
	}
}
