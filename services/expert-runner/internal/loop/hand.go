package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// Do implements expert.Hand: intent, call, result, each stored before the next.
func (r *run) Do(ctx context.Context, e expert.Effect, call func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	if e.Key == "" || e.Name == "" {
		return nil, errors.New("effect: key and name are needed")
	}
	if r.hold == nil {
		raw, err := call(ctx) // Pure: at least once, by declaration.
		return r.loop.Secrets.Redactor().JSON(raw), err
	}
	r.effects.Lock()
	use, known := r.known.Begin(e)
	r.effects.Unlock()
	switch use {
	case jobrun.Recall:
		return r.recall(ctx, known)
	case jobrun.Adopt:
		return r.adopt(ctx, e, known)
	}
	if err := r.intend(ctx, e); err != nil {
		return nil, fmt.Errorf("effect %s: journal intent: %w", e.Key, err)
	}
	if err := r.loop.at(BetweenEffect, r); err != nil {
		return nil, err
	}
	result, err := call(ctx)
	result = r.loop.Secrets.Redactor().JSON(result) // Who goes on now has what whoever takes over reads in the journal.
	if err != nil && !e.Safe && ctx.Err() == nil && errors.Is(err, expert.ErrUnknown) {
		result, err = r.doubtful(ctx, &e, err)
	}
	if err != nil && (ctx.Err() != nil || !e.Safe && errors.Is(err, expert.ErrUnknown)) {
		return nil, err // Nobody knows how far it came.
	}
	if kept := r.keepResult(ctx, jobrun.Made(r.Run, r.loop.Owner, e, result, err)); kept != nil {
		return nil, fmt.Errorf("effect %s: journal result: %w", e.Key, kept)
	}
	return result, err
}

// intend stores the intent to make an effect.
func (r *run) intend(ctx context.Context, e expert.Effect) error {
	if err := r.loop.at(BeforeIntent, r); err != nil {
		return err
	}
	return r.hold.Begin(ctx, jobrun.Intends(r.Run, r.loop.Owner, e))
}

// keepResult stores what came back, large ones by reference, and remembers it.
func (r *run) keepResult(ctx context.Context, rec events.JournalRecord) error {
	if len(rec.Data) > events.MaxInline {
		ref, err := r.put(ctx, rec.Data)
		if err != nil {
			return err
		}
		rec.Data, rec.Ref = nil, &ref
	}
	if err := r.hold.Append(ctx, rec); err != nil {
		return err
	}
	if err := r.loop.at(AfterResult, r); err != nil {
		return err
	}
	r.effects.Lock()
	defer r.effects.Unlock()
	r.known.Finish(rec)
	return nil
}

// put stores what came back of an effect. While the bus is away it waits, as long as the run may take: what was done cannot be
// done again.
func (r *run) put(ctx context.Context, data []byte) (events.Ref, error) {
	for retry := lease.FirstRetry; ; retry = min(2*retry, lease.LongRetry) {
		ref, err := r.loop.Blobs.Put(ctx, r.Job, data)
		if err == nil || errors.Is(err, ErrTooLarge) || r.ctx.Err() != nil || lease.Pause(ctx, retry) != nil {
			return ref, err
		}
	}
}

func (r *run) recall(ctx context.Context, done events.JournalRecord) (json.RawMessage, error) {
	if done.Ref == nil {
		return done.Data, nil
	}
	return r.payload(ctx, *done.Ref)
}

// Progress implements expert.Hand.
func (r *run) Progress(p events.SubJobProgressed) { r.state(events.KindSubJobProgressed, &p) }

// Live implements expert.Hand.
func (r *run) Live(body []byte) { r.loop.Log.Live(r.Job, r.SubJob, body) }
