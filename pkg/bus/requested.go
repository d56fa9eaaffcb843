package bus

import (
	"context"
	"fmt"
	"iter"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Requested gives job.requested of every job that was admitted between two sequences of the log, both included, in order.
// Errors: ErrNotFound, ErrUnavailable.
func (b *Bus) Requested(ctx context.Context, from, to uint64) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		filter := b.names.Prefix() + ".event.*.*." + string(events.KindJobRequested)
		err := b.each(ctx, b.names.Log, filter, from, to, func(s Stored) bool {
			e, ok := b.Event(s)
			return !ok || yield(e, nil)
		})
		if err != nil {
			yield(events.Event{}, fmt.Errorf("read requests %d to %d: %w", from, to, err))
		}
	}
}
