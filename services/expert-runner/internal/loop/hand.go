package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// effects makes the effects of a run: it journals the intent, makes the call and journals the result, in this order, and knows the
// effects of earlier runs. It is the expert.Hand of the run.
type effects struct {
	run *run

	mu    sync.Mutex // Guards known: an expert may make effects from several goroutines.
	known jobrun.Effects
}

// Do implements expert.Hand: intent, call, result, each stored before the next.
func (ef *effects) Do(ctx context.Context, e expert.Effect, call func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	if e.Key == "" || e.Name == "" {
		return nil, errors.New("effect: key and name are needed")
	}
	if ef.run.hold == nil {
		raw, err := call(ctx) // A pure expert has declared that its calls may be repeated.
		return ef.run.loop.Secrets.Redactor().JSON(raw), err
	}
	ef.mu.Lock()
	use, known := ef.known.Begin(e)
	ef.mu.Unlock()
	switch use {
	case jobrun.Recall:
		return ef.recall(ctx, known)
	case jobrun.Adopt:
		return ef.adopt(ctx, e, known)
	}
	if err := ef.intend(ctx, e); err != nil {
		return nil, fmt.Errorf("effect %s: journal intent: %w", e.Key, err)
	}
	if err := ef.run.loop.at(BetweenEffect, ef.run); err != nil {
		return nil, err
	}
	result, err := call(ctx)
	result = ef.run.loop.Secrets.Redactor().JSON(result) // The current owner gets what a successor would read from the journal.
	if err != nil && !e.Safe && ctx.Err() == nil && errors.Is(err, expert.ErrUnknown) {
		result, err = ef.doubtful(ctx, &e, err)
	}
	if err != nil && (ctx.Err() != nil || !e.Safe && errors.Is(err, expert.ErrUnknown)) {
		return nil, err // How far the call came is unknown.
	}
	if kept := ef.keepResult(ctx, jobrun.Made(ef.run.Run, ef.run.loop.Owner, e, result, err)); kept != nil {
		return nil, fmt.Errorf("effect %s: journal result: %w", e.Key, kept)
	}
	return result, err
}

// intend stores the intent to make an effect.
func (ef *effects) intend(ctx context.Context, e expert.Effect) error {
	if err := ef.run.loop.at(BeforeIntent, ef.run); err != nil {
		return err
	}
	return ef.run.hold.Begin(ctx, jobrun.Intends(ef.run.Run, ef.run.loop.Owner, e))
}

// keepResult journals the result, a large one as a blob, and remembers it.
func (ef *effects) keepResult(ctx context.Context, rec events.JournalRecord) error {
	if len(rec.Data) > events.MaxInline {
		ref, err := ef.put(ctx, rec.Data)
		if err != nil {
			return err
		}
		rec.Data, rec.Ref = nil, &ref
	}
	if err := ef.run.hold.Append(ctx, rec); err != nil {
		return err
	}
	if err := ef.run.loop.at(AfterResult, ef.run); err != nil {
		return err
	}
	ef.mu.Lock()
	defer ef.mu.Unlock()
	ef.known.Finish(rec)
	return nil
}

// put stores a result as a blob. While the bus is away it waits as long as the run may take, because the call cannot be repeated.
func (ef *effects) put(ctx context.Context, data []byte) (events.Ref, error) {
	for retry := lease.FirstRetry; ; retry = min(2*retry, lease.LongRetry) {
		ref, err := ef.run.loop.Blobs.Put(ctx, ef.run.Job, data)
		if err == nil || errors.Is(err, store.ErrTooLarge) || ef.run.ctx.Err() != nil || lease.Pause(ctx, retry) != nil {
			return ref, err
		}
	}
}

func (ef *effects) recall(ctx context.Context, done events.JournalRecord) (json.RawMessage, error) {
	if done.Ref == nil {
		return done.Data, nil
	}
	return ef.run.payloads.get(ctx, *done.Ref)
}

// Progress implements expert.Hand.
func (ef *effects) Progress(p events.SubJobProgressed) {
	ef.run.state(events.KindSubJobProgressed, &p)
	ef.run.watched.progress(&p)
}

// Live implements expert.Hand.
func (ef *effects) Live(body []byte) {
	ef.run.loop.Log.Live(ef.run.Job, ef.run.SubJob, ef.run.Shows, body)
}
