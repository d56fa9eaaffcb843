package llm

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// pace bundles clock and randomness, so that tests can replace them.
type pace struct {
	now    func() time.Time
	sleep  func(ctx context.Context, d time.Duration) error
	jitter func() float64
	// maxWait is the longest wait in a goroutine.
	maxWait time.Duration
	// hold limits the wait for a free slot; 0 sets no limit.
	hold time.Duration
}

// tooLong reports whether a wait would reach the deadline or exceed maxWait. Then the broker waits, which can take hours.
func (p pace) tooLong(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return false
	}
	deadline, ok := ctx.Deadline()
	return wait > p.maxWait || ok && !p.now().Add(wait).Before(deadline)
}

// backoff returns the pause before attempt n+1 (n counts from 1) if the provider named none: half a second, doubled each
// time, at most maxWait, reduced at random by up to a quarter.
func (p pace) backoff(n int) time.Duration {
	pause := min(time.Second/2<<min(n-1, 20), p.maxWait)
	return time.Duration(float64(pause) * (1 - p.jitter()/4))
}

// sleepFor waits, unless the context ends first.
func sleepFor(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// chance is the jitter outside of tests.
func chance() float64 { return rand.Float64() }

// gaveUp returns the error of a call whose context has ended.
func gaveUp(err error) *Error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &Error{Class: TimedOut, Message: "the caller's deadline has passed", cause: context.DeadlineExceeded}
	}
	return &Error{Class: Cancelled, Message: "the caller gave up", cause: context.Canceled}
}
