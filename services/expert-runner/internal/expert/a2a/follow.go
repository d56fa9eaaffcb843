package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

const (
	// maxResend limits how often a message is sent to an agent that recognises it by its id.
	maxResend = 3
	// firstWait is the first pause between two queries of a task.
	firstWait = 100 * time.Millisecond
)

// tail is a sequence of the agent's updates that is still being received.
type tail struct {
	next  func() (*update, error, bool)
	close func()
	// cancel ends the tail, with a cause; limit is the longest silence until it is ended like that.
	cancel context.CancelCauseFunc
	ctx    context.Context // Ends with the tail; stored because the sequence uses it too.
	limit  time.Duration
}

// listen starts to receive a sequence, replacing the previous one.
func (r *run) listen(ctx context.Context, tell func(context.Context) iter.Seq2[*update, error]) {
	r.hangUp()
	ctx, cancel := context.WithCancelCause(ctx)
	next, stop := iter.Pull2(tell(ctx))
	r.tail = &tail{next: next, ctx: ctx, cancel: cancel, limit: r.config.AnswerTimeout, close: func() { cancel(nil); stop() }}
}

// hangUp stops receiving.
func (r *run) hangUp() {
	if r.tail != nil {
		r.tail.close()
		r.tail = nil
	}
}

// hear returns the next update; false at the end.
func (r *run) hear() (*update, bool, error) {
	t := r.tail
	timer := time.AfterFunc(t.limit, func() { t.cancel(errSilent) })
	u, err, more := t.next()
	timer.Stop()
	if !more {
		return nil, false, nil
	}
	if err != nil {
		if errors.Is(context.Cause(t.ctx), errSilent) {
			err = fmt.Errorf("%w: nothing came for %s", errSilent, t.limit)
		}
		return nil, false, err
	}
	if r.told++; r.told > r.config.MaxEvents {
		return nil, false, over("max_events", r.config.MaxEvents)
	}
	return u, true, nil
}

// take applies an update and passes it on to watchers.
func (r *run) take(u *update) bool {
	before := r.record.State
	if !r.record.take(u) {
		return false
	}
	r.live.tell(u)
	if r.record.State != before && r.record.State != "" {
		r.live.turn(r.record)
	}
	return true
}

// send sends the message and returns as soon as the agent's task is known, or its answer without a task. Further updates
// stay in the tail.
func (r *run) send(ctx context.Context, m *message) (json.RawMessage, error) {
	if m.Task == "" {
		files, err := r.files(ctx)
		if err != nil {
			return nil, err
		}
		m.Parts = append(m.Parts, files...)
	}
	for attempt := 1; ; attempt++ {
		err := r.sendOnce(ctx, m)
		var refused *refusal
		switch {
		case err == nil:
			return r.record.keep()
		case errors.As(err, &refused):
			r.record.Refused = refused
			return r.record.keep()
		case ctx.Err() != nil, errors.Is(err, errUnsent):
			return nil, err
		case errors.Is(err, errBudget):
			r.record.Refused = &refusal{Code: events.CodeTooLarge, Message: "the agent answered more than it may", Cause: err.Error(), Hint: "ask for less, or raise the limit on the card"}
			return r.record.keep()
		case !r.config.Safe, attempt == maxResend:
			return nil, fmt.Errorf("%w: %w", expert.ErrUnknown, err)
		}
		if err := pause(ctx, firstWait<<attempt, nil); err != nil {
			return nil, err
		}
	}
}

func (r *run) sendOnce(ctx context.Context, m *message) error {
	r.record = &record{Task: m.Task, Context: m.Context, Answered: m.Answers, Artifacts: slices.Clone(m.Made), Card: r.card.Digest}
	r.listen(ctx, func(ctx context.Context) iter.Seq2[*update, error] { return r.peer.Send(ctx, m) })
	for {
		u, more, err := r.hear()
		if err != nil {
			return err
		}
		if !more {
			return errors.New("the answer ended before it began")
		}
		if !r.take(u) {
			return &refusal{Code: events.CodeMalformed, Message: "the agent answered about another task", Cause: clip(u.Task, maxName)}
		}
		if r.record.Task != "" || r.record.rest() {
			return nil
		}
	}
}

// follow waits until the task needs no more waiting. Only the agent or a limit ends it: a broken connection is reopened.
func (r *run) follow(ctx context.Context) (json.RawMessage, error) {
	ctx, stop := context.WithTimeout(ctx, r.config.MaxTime)
	defer stop()
	if t := r.tail; t != nil {
		// The tail began before this limit was set.
		defer context.AfterFunc(ctx, func() { t.cancel(context.Cause(ctx)) })()
	}
	first := r.tail == nil // After a crash the agent does not know the address for notifications.
	for wait := firstWait; ; wait = min(2*wait, r.config.PollInterval) {
		before := r.told
		if err := r.hearOut(ctx); err != nil {
			return nil, err
		}
		if r.record.rest() {
			return r.record.keep()
		}
		if r.told > before {
			wait = firstWait
		}
		if err := pause(ctx, max(wait, r.patience()), r.push.notified()); err != nil {
			return nil, err
		}
		if err := r.look(ctx, first); err != nil {
			return nil, err
		}
		first = false
	}
}

// hearOut receives everything that the agent sends by itself. Only a limit is an error, since the state of the task can be
// queried.
func (r *run) hearOut(ctx context.Context) error {
	for r.tail != nil && !r.record.rest() {
		u, more, err := r.hear()
		var refused *refusal
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errBudget):
			return err
		case errors.As(err, &refused) && refused.Code == events.CodeMalformed:
			r.record.Refused = refused
		case errors.As(err, &refused):
			r.streams = false // It does not support subscriptions, so it is queried from now on.
		}
		if err != nil || !more {
			r.hangUp()
			return nil
		}
		r.take(u) // Updates about other tasks are only counted.
	}
	return nil
}

// look queries the state of the task, and subscribes again if the agent supports that.
func (r *run) look(ctx context.Context, first bool) error {
	f := &following{task: r.record.Task}
	if first && r.push != nil {
		f.push = r.push.notify
	}
	r.listen(ctx, func(ctx context.Context) iter.Seq2[*update, error] { return r.peer.Follow(ctx, f) })
	u, more, err := r.hear()
	r.hangUp()
	var refused *refusal
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errBudget):
		return err
	case errors.As(err, &refused) && refused.Code == events.CodeUnavailable:
		r.waits = refused.RetryAfter.Std()
		return nil
	case errors.As(err, &refused):
		r.record.Refused = refused
		return nil
	case err != nil || !more:
		return nil // The connection broke; the next query opens another one.
	case u.Task != r.record.Task:
		r.record.Refused = &refusal{Code: events.CodeMalformed, Message: "the agent answered about another task", Cause: clip(u.Task, maxName)}
		return nil
	}
	r.take(u)
	if r.streams && !r.record.rest() {
		live := &following{task: r.record.Task, live: true}
		r.listen(ctx, func(ctx context.Context) iter.Seq2[*update, error] { return r.peer.Follow(ctx, live) })
	}
	return nil
}

// patience returns the delay that the agent has asked for, once: then it is 0 until the agent asks for another one.
func (r *run) patience() time.Duration {
	wait := r.waits
	r.waits = 0
	return wait
}

// pause waits until the time is up or wake fires.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
