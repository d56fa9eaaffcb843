package llm

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// pace is time and chance, so that tests can have their own.
type pace struct {
	now    func() time.Time
	sleep  func(ctx context.Context, d time.Duration) error
	jitter func() float64
	// maxWait is the longest wait that a goroutine may be held for.
	maxWait time.Duration
	// hold bounds the wait for a free slot; 0 does not.
	hold time.Duration
}

// tooLong reports whether a wait would reach the deadline or exceed what a goroutine may be held for; then the broker
// waits, which can do so for hours.
func (p pace) tooLong(ctx context.Context, wait time.Duration) bool {
	if wait <= 0 {
		return false
	}
	deadline, ok := ctx.Deadline()
	return wait > p.maxWait || ok && !p.now().Add(wait).Before(deadline)
}

// backoff is the pause before attempt n+1 (n counts from 1) when the provider named none: half a second, doubled each time,
// at most maxWait, of which chance takes up to a quarter.
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

// gaveUp is the error of a call whose caller's context has ended.
func gaveUp(err error) *Error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &Error{Class: TimedOut, Message: "the caller's deadline has passed", cause: context.DeadlineExceeded}
	}
	return &Error{Class: Cancelled, Message: "the caller gave up", cause: context.Canceled}
}
