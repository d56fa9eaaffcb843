package lease

import (
	"context"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// One is the journal of one SubJob: Read returns all records and the sequence of the last, Append stores one if the journal still
// ends there.
type One interface {
	Read(ctx context.Context) (entries []run.Entry, last uint64, err error)
	Append(ctx context.Context, r events.JournalRecord, last uint64) (uint64, error)
}

// Close closes a run in every journal in which it can be claimed, and returns until when it is held, by the broker's clock; claimed
// is false if it was never claimed. Errors: those of Fence.
func Close(ctx context.Context, number int, reason string, in ...One) (until time.Time, claimed bool, err error) {
	for _, one := range in {
		journal, err := Fence(ctx, one, number, reason)
		if err != nil {
			return until, claimed, err
		}
		if held, ok := journal.Held(number); ok {
			claimed = true
			if held.After(until) {
				until = held
			}
		}
	}
	return until, claimed, nil
}

// Fence closes a run in its journal, unless it is closed: from then on it cannot be claimed, and no claim of it can write.
// It returns the journal as it was before. Errors: those of the journal, and ctx's.
func Fence(ctx context.Context, in One, number int, reason string) (*run.Journal, error) {
	for {
		entries, last, err := in.Read(ctx)
		if err != nil {
			return nil, err
		}
		journal := run.Read(entries)
		if journal.IsClosed(number) {
			return journal, nil
		}
		_, err = in.Append(ctx, run.Closed(number, reason), last)
		if err == nil {
			return journal, nil
		}
		if !errors.Is(err, store.ErrConflict) || ctx.Err() != nil {
			return nil, err
		}
	}
}
