package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// resolve journals what people have said about effects in doubt, and asks the expert's hook about the others. It gives the
// ending of a run that need not go on, or cannot; nil for one that does.
func (r *run) resolve() *task.Ending {
	d := r.decision
	ending, err := d.Ending, r.settled()
	if err == nil && len(d.Unresolved) > 0 && ending.Park != nil && r.expert.Reconciler != nil {
		found := make([]jobrun.Resolution, len(d.Unresolved))
		for i := range d.Unresolved {
			found[i] = r.inquire(r.ctx, d.Unresolved[i].Intent)
		}
		d.Settle(r.Order, found)
		ending, err = d.Ending, r.settled()
	}
	r.effects.Lock()
	r.known = d.Effects
	r.effects.Unlock()
	if err != nil {
		e := task.Failure(events.CodeUnavailable, "what is known of an effect could not be journaled", err.Error(), "")
		return &e
	}
	return ending
}

// settled appends the records that end doubts.
func (r *run) settled() error {
	for _, rec := range r.decision.Settled {
		rec.Owner = r.loop.Owner
		if err := r.keepResult(r.ctx, rec); err != nil {
			return fmt.Errorf("settle effect %s: %w", rec.Key, err)
		}
	}
	r.decision.Settled = nil
	return nil
}

// inquire asks the expert's hook about one effect.
func (r *run) inquire(ctx context.Context, intent events.JournalRecord) jobrun.Resolution {
	began := time.Now()
	f := r.expert.Reconciler.Reconcile(ctx, expert.Inquiry{Work: &r.Work, Intent: intent, Log: r.log()})
	r.log().Info("asked what became of an effect", "effect", intent.Key, "state", string(f.State), "reason", f.Reason, "took", time.Since(began))
	return f
}

// doubtful asks the hook about a call of this run that brought nothing back but an error. That stays expert.ErrUnknown when
// the hook cannot tell.
func (r *run) doubtful(ctx context.Context, e *expert.Effect, why error) (json.RawMessage, error) {
	if r.expert.Reconciler == nil {
		return nil, why
	}
	f := r.inquire(ctx, jobrun.Intends(r.Run, "", *e))
	switch {
	case f.State == jobrun.Done:
		return f.Result, nil
	case f.State == jobrun.NotDone:
		return nil, fmt.Errorf("it did not take effect: %s", f.Reason)
	case f.Reason == "":
		return nil, why
	}
	return nil, fmt.Errorf("%w; %s", why, f.Reason)
}

// adopt keeps the result that was declared of the same call in a run before, under the key of this one.
func (r *run) adopt(ctx context.Context, e expert.Effect, declared events.JournalRecord) (json.RawMessage, error) {
	raw, err := r.recall(ctx, declared)
	if err != nil {
		return nil, err
	}
	return raw, r.keepResult(ctx, jobrun.Made(r.Run, r.loop.Owner, e, raw, nil))
}
