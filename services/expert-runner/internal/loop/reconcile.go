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

// resolve journals people's decisions about effects with an unknown outcome, and asks the expert's hook about the others. It
// returns the ending of a run that need not or cannot continue; nil otherwise.
func (ef *effects) resolve() *task.Ending {
	d := ef.run.decision
	ending, err := d.Ending, ef.settled()
	if err == nil && len(d.Unresolved) > 0 && ending.Park != nil && ef.run.expert.Reconciler != nil {
		found := make([]jobrun.Resolution, len(d.Unresolved))
		for i := range d.Unresolved {
			found[i] = ef.inquire(ef.run.ctx, d.Unresolved[i].Intent)
		}
		d.Settle(ef.run.Order, found)
		ending, err = d.Ending, ef.settled()
	}
	ef.mu.Lock()
	ef.known = d.Effects
	ef.mu.Unlock()
	if err != nil {
		e := task.Failure(events.CodeUnavailable, "what is known of an effect could not be journaled", err.Error(), "")
		return &e
	}
	return ending
}

// settled appends the records that end doubts.
func (ef *effects) settled() error {
	for _, rec := range ef.run.decision.Settled {
		rec.Owner = ef.run.loop.Owner
		if err := ef.keepResult(ef.run.ctx, rec); err != nil {
			return fmt.Errorf("settle effect %s: %w", rec.Key, err)
		}
	}
	ef.run.decision.Settled = nil
	return nil
}

// inquire asks the expert's hook about one effect.
func (ef *effects) inquire(ctx context.Context, intent events.JournalRecord) jobrun.Resolution {
	began := time.Now()
	f := ef.run.expert.Reconciler.Reconcile(ctx, expert.Inquiry{Work: &ef.run.Work, Intent: intent, Log: ef.run.log()})
	ef.run.log().Info("reconciled an effect with an unknown outcome", "effect", intent.Key, "state", string(f.State), "reason", f.Reason, "took", time.Since(began))
	return f
}

// doubtful asks the hook about a call of this run that returned only an error. It stays expert.ErrUnknown if the hook does not
// know.
func (ef *effects) doubtful(ctx context.Context, e *expert.Effect, why error) (json.RawMessage, error) {
	if ef.run.expert.Reconciler == nil {
		return nil, why
	}
	f := ef.inquire(ctx, jobrun.Intends(ef.run.Run, "", *e))
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

// adopt records a result that was declared for the same call of an earlier run, under the key of this call.
func (ef *effects) adopt(ctx context.Context, e expert.Effect, declared events.JournalRecord) (json.RawMessage, error) {
	raw, err := ef.recall(ctx, declared)
	if err != nil {
		return nil, err
	}
	return raw, ef.keepResult(ctx, jobrun.Made(ef.run.Run, ef.run.loop.Owner, e, raw, nil))
}
