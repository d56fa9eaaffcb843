package loop

import (
	"bytes"
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// restore reads a saved state. It rejects a state that cannot be read, has no digest, or contains an end that the log does not
// have. A readable state that is rejected is returned as doubted.
func (f *folder) restore(ctx context.Context, job string, distrusted bool, saved *Saved) (state, doubted *graph.Job, err error) {
	if saved.Refused != "" {
		f.Logger.Warn("discarding a saved state and folding the log instead", "job", job, "reason", saved.Refused,
			"hint", "`jobgraph fsck` checks all of them, and the log")
	}
	if saved.State == nil {
		return nil, nil, nil
	}
	state = &graph.Job{}
	if err := state.UnmarshalJSON(saved.State); err != nil {
		f.Logger.Info("folding a stored state again", "job", job, "reason", err)
		return nil, nil, nil
	}
	if !f.knows(state) {
		return nil, nil, nil // The first event of the log decides instead.
	}
	if distrusted || saved.Unsigned {
		return nil, state, nil
	}
	if state.Status.Terminal() && !state.EndOwed {
		if e, err := f.confirm(ctx, job, state); err != nil || e.Seq == 0 {
			return nil, state, err
		}
	}
	return state, nil, nil
}

// verify compares a fold with the saved state that ends at the same event, and reports whether they are equal: then nothing has to
// be published again. The state is saved again in any case, with a digest.
func (f *folder) verify(job string, state, doubted *graph.Job, saved []byte) bool {
	if folded, err := marshal(state); err == nil && bytes.Equal(folded, saved) {
		state.Transitions()
		return true
	}
	if doubted.Status != state.Status {
		f.Logger.Warn("discarding a saved state that covers events missing from the log; folding the log instead", "job", job,
			"saved", string(doubted.Status), "folded", string(state.Status), "seq", state.Seq,
			"hint", "find out what wrote to the bucket of states; `jobgraph fsck` holds all of them against the log")
	}
	return false
}

// confirm returns the event that ended a job according to its state, or the zero event if later events of the log have changed
// that.
func (f *folder) confirm(ctx context.Context, job string, state *graph.Job) (events.Event, error) {
	e, err := f.Log.EndOf(ctx, job)
	if err != nil {
		return events.Event{}, fmt.Errorf("read end of job: %w", err)
	}
	end, ok := e.Data.(*events.JobEnded)
	if !ok || e.Seq > state.Seq || end.Status != state.Status || end.Turn != state.Turn {
		return events.Event{}, nil
	}
	return e, nil
}
