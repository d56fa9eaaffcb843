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

// effectName is the name of a remote agent's effects in the journal.
const effectName = "a2a"

const (
	// maxRounds limits how often an agent may ask for input.
	maxRounds = 20
	// cancelTime limits the request to cancel a task.
	cancelTime = time.Second
)

// run is one run with a remote agent. It belongs to the goroutine that runs the expert.
type run struct {
	config *Config
	card   *Card
	peer   peer
	host   string
	form   *schema.Schema // nil accepts any result.
	task   *expert.Task
	live   live
	// streams is true while the agent sends updates of a task by itself.
	streams bool
	// record is the state of the present exchange, tail its pending updates; nil for none.
	record *record
	tail   *tail
	// told counts the agent's updates; waits is the delay that it asked for.
	told  int
	waits time.Duration
	// push is the registration for notifications; nil in other modes.
	push *expectation
}

// run talks to the agent until its task needs no more waiting.
func (r *run) run(ctx context.Context) task.Ending {
	own, stop := context.WithCancel(ctx)
	defer stop()
	defer r.hangUp()
	if r.config.Mode == ModePush && r.config.Receiver != nil {
		r.push = r.config.Receiver.expect(r.config.PushURL)
		defer r.push.forget()
	}
	m := r.opening()
	var err error
	if m.Context, err = r.context(own); err != nil {
		return *r.broken(err)
	}
	for round := 1; round <= maxRounds; round++ {
		raw, ending := r.exchange(own, round, m)
		r.remember(own, m)
		r.leave(ctx, ending)
		switch {
		case ending != nil:
			return *ending
		case r.record == nil:
			// A person has declared what the result is.
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

// key returns the key of an effect of this attempt: an attempt after a failure starts a new task.
func (r *run) key(round int, what string) string {
	return fmt.Sprintf("a2a/%d/%d/%s", max(r.task.Work.Attempt, 1), round, what)
}

// exchange sends a message and returns the result, always through the journal. The record is nil if the journal has another
// kind of result, which is returned then.
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

// messageID returns the id of a message, from the run that first intended to send it, so that an agent that recognises ids
// sees the same message.
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

// leave cancels the remote task of a run that ends without it: the run is over for good, or gives up by itself. If another
// runner continues the run, the task is left alone.
func (r *run) leave(ctx context.Context, ending *task.Ending) {
	gives := ending != nil && ending.Park == nil || ending == nil && r.record != nil && r.record.stuck()
	if errors.Is(context.Cause(ctx), expert.ErrStopped) || gives && ctx.Err() == nil {
		r.cancel(ctx)
	}
}

// cancel asks the agent to cancel its task, as best effort: the agent's reaction changes nothing here.
func (r *run) cancel(ctx context.Context) {
	r.hangUp()
	if r.record == nil || !r.record.open() {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer stop()
	if err := r.peer.Cancel(ctx, r.record.Task); err != nil {
		r.task.Log.Warn("cannot cancel the task of a remote agent", "host", r.host, "task", clip(r.record.Task, maxName), "error", err)
	}
}

// broken ends a run that cannot continue. If the run was ended from outside, the loop determines the outcome.
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
