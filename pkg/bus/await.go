package bus

import (
	"context"
	"errors"
	"time"
)

// retryAway is the delay of Await between two attempts.
const retryAway = 200 * time.Millisecond

// Await repeats f while its error is ErrUnavailable or ErrUnknown, for services that start while the bus is unstable. f
// must be safe to repeat. It returns the last error of f, which is one of these two only if ctx has ended.
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

// Prepare creates streams, buckets and consumers, or checks them if it may not create them, and waits until the bus is
// available. It is for services, which CheckSigned refuses. Errors: those of Init, Check and CheckSigned.
func (s Streams) Prepare(ctx context.Context) error {
	return Await(ctx, func() error {
		err := s.Init(ctx)
		if errors.Is(err, ErrNotPermitted) {
			err = s.Check(ctx)
		}
		if err == nil {
			err = s.CheckSigned(ctx)
		}
		return err
	})
}
