package bus

import (
	"context"
	"errors"
	"time"
)

// retryAway is how long Await waits between two tries.
const retryAway = 200 * time.Millisecond

// Await calls f until its error is neither ErrUnavailable nor ErrUnknown, for services that begin while the bus comes and goes: f
// may be repeated. It gives the last error of f; that is one of these only when ctx has ended.
func Await(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrUnknown) || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(retryAway)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Prepare makes streams, buckets and consumers, or checks them where it may not, and awaits the bus for it. Errors: those of
// Init and Check.
func (s Streams) Prepare(ctx context.Context) error {
	return Await(ctx, func() error {
		err := s.Init(ctx)
		if errors.Is(err, ErrNotPermitted) {
			err = s.Check(ctx)
		}
		return err
	})
}
