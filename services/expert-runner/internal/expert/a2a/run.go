package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// effectName is what the journal calls the effects of a remote agent.
const effectName = "a2a"

const (
	// maxRounds bounds how often an agent may ask for input.
	maxRounds = 20
	// cancelTime bounds how long it may take to tell an agent that its task is to end.
	cancelTime = time.Second
)

// run is one run with a remote agent. It belongs to the goroutine that runs the expert.
type run struct {
	config *Config
	card   *Card
	peer   peer
	host   string
	form   *schema.Schema // nil when any result will do.
	task   *expert.Task
	live   live
	// streams is true while the agent tells by itself what becomes of a task.
	streams bool
	// record is what is known of the exchange under way, tail what it is still being told; nil for nothing.
	record *record
	tail   *tail
	// told counts what the agent has told; waits is how long it has asked to be left alone.
	told  int
	waits time.Duration
	// push is where notifications are expected; nil in other modes.
	push *expectation
}

// run talks to the agent until its task is at rest.
func (r *run) run(ctx context.Context) task.Ending {
	own, stop := context.WithCancel(ctx)
	defer stop()
	defer r.hangUp()
	if r.config.Mode == ModePush && r.config.Receiver != nil {
		r.push = r.config.Receiver.expect(r.config.PushURL)
		defer r.push.forget()
	}
	m := r.opening()
	for round := 1; round <= maxRounds; round++ {
		raw, ending := r.exchange(own, round, m)
		r.leave(ctx, ending)
		switch {
		case ending != nil:
			return *ending
		case r.record == nil:
			// A person has declared what came of it.
			return task.Ending{Report: &events.SubJobReported{Outcome: events.Success, Output: raw}}
		case r.record.State != stateInput || r.record.Refused != nil:
			return r.ending()
		}
		closed, answered := r.answer(round)
		if !answered {
			return r.ask(round)
		}
		if closed.Action != events.Answered && len(closed.Answer) == 0 {
			r.cancel(ctx)
			return task.Failure(events.CodeRejected, "the agent got no answer", "the request was "+string(closed.Action), "answer it next time, or give the agent what it needs in the goal")
		}
		m = r.reply(closed.Answer)
	}
	r.cancel(ctx)
	return task.Failure(events.CodeBudget, fmt.Sprintf("the agent asked for input more than %d times", maxRounds), "", "give it what it needs in the goal")
}

// key names an effect of this attempt: an attempt that follows a failure begins a task of its own.
func (r *run) key(round int, what string) string {
	return fmt.Sprintf("a2a/%d/%d/%s", max(r.task.Work.Attempt, 1), round, what)
}

// exchange says something and gives what came of it, all through the journal. The record is nil when the journal has another
// result, which is given then.
func (r *run) exchange(ctx context.Context, round int, m *message) (json.RawMessage, *task.Ending) {
	var err error
	if m.ID, err = r.messageID(ctx, round); err != nil {
		return nil, r.broken(err)
	}
	args, err := json.Marshal(map[string]any{"host": r.host, "version": r.card.version, "message": m.ID, "task": m.Task})
	if err != nil {
		return nil, r.broken(err)
	}
	e := expert.Effect{Key: r.key(round, "send"), Name: effectName, Safe: r.config.Safe, Args: args}
	raw, err := r.task.Hand.Do(ctx, e, func(ctx context.Context) (json.RawMessage, error) { return r.send(ctx, m) })
	if err != nil {
		if !r.config.Safe && errors.Is(err, expert.ErrUnknown) {
			doubt := task.Doubt(r.task.Work, "The message to "+r.host+" was cut off: "+err.Error()+".", e)
			return nil, &doubt
		}
		return nil, r.broken(err)
	}
	if r.record = readRecord(raw); r.record == nil || r.record.rest() {
		return raw, nil
	}
	e = expert.Effect{Key: r.key(round, "task"), Name: effectName, Safe: true, Args: json.RawMessage(quoted(r.record.Task))}
	raw, err = r.task.Hand.Do(ctx, e, r.follow)
	if err != nil {
		return nil, r.broken(err)
	}
	r.record = readRecord(raw)
	return raw, nil
}

// messageID is the id of a message: that of the run which has first meant to send it, so that an agent which knows it sees that
// it is the same.
func (r *run) messageID(ctx context.Context, round int) (string, error) {
	e := expert.Effect{Key: r.key(round, "message"), Name: effectName, Safe: true}
	raw, err := r.task.Hand.Do(ctx, e, func(context.Context) (json.RawMessage, error) {
		name := jobrun.CallKey(r.task.Work.IdempotencyKey, strconv.Itoa(round))
		return json.RawMessage(quoted(uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String())), nil
	})
	if err != nil {
		return "", err
	}
	var id string
	if err := json.Unmarshal(raw, &id); err != nil {
		return "", fmt.Errorf("read the id of the message: %w", err)
	}
	return id, nil
}

// leave ends the remote task of a run that ends without it: when the run is over for good, or gives up by itself. A run that
// another runner goes on with leaves it alone.
func (r *run) leave(ctx context.Context, ending *task.Ending) {
	gives := ending != nil && ending.Park == nil || ending == nil && r.record != nil && r.record.stuck()
	if errors.Is(context.Cause(ctx), expert.ErrStopped) || gives && ctx.Err() == nil {
		r.cancel(ctx)
	}
}

// cancel tells the agent that its task is to end. It is best effort: what the agent makes of it changes nothing here.
func (r *run) cancel(ctx context.Context) {
	r.hangUp()
	if r.record == nil || !r.record.open() {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	if err := r.peer.Cancel(ctx, r.record.Task); err != nil {
		r.task.Log.Warn("the agent was not told to end its task", "host", r.host, "task", clip(r.record.Task, maxName), "error", err)
	}
}

// broken ends a run that cannot go on: the loop knows better when the run was ended from outside.
func (r *run) broken(err error) *task.Ending {
	if fault := (*events.Fault)(nil); errors.As(err, &fault) {
		return &task.Ending{Report: &events.SubJobReported{Outcome: events.ExecutionError, Error: fault, Lesson: fault.Error()}}
	}
	code, hint := events.CodeUnavailable, "see that the agent runs, and that its address is right"
	switch {
	case errors.Is(err, errBudget):
		code, hint = events.CodeTooLarge, "ask for less, or raise the limit on the card"
	case errors.Is(err, context.DeadlineExceeded):
		code, hint = events.CodeTimeout, "ask for less, or raise max_time on the card"
		err = fmt.Errorf("not done within %s", r.config.MaxTime)
	}
	e := task.Failure(code, "the agent at "+r.host+" brought no result", err.Error(), hint)
	return &e
}
