package llm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limiter enforces one model's limits. It survives configuration changes that leave the limits unchanged.
type limiter struct {
	// slots holds a token per running request; nil means unlimited.
	slots            chan struct{}
	requests, tokens *rate.Limiter

	mu    sync.Mutex // Guards until.
	until time.Time  // The time until which the provider accepts no call.
}

// mostClosed limits how long a provider's Retry-After blocks other calls, since it may have concerned only one.
const mostClosed = 5 * time.Minute

func newLimiter(l RateLimits) *limiter {
	made := &limiter{requests: perMinute(l.RequestsPerMinute), tokens: perMinute(l.TokensPerMinute)}
	if l.Concurrency > 0 {
		made.slots = make(chan struct{}, l.Concurrency)
	}
	return made
}

// perMinute allows a minute's worth at once and refills evenly; nil means unlimited.
func perMinute(n int) *rate.Limiter {
	if n <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(n)/60), n)
}

// enter takes a slot and waits for the rate limits. It never waits beyond the deadline; then the error says when to retry.
// On success the caller must call leave.
func (l *limiter) enter(ctx context.Context, pace pace, tokens int) *Error {
	if err := l.take(ctx, pace); err != nil {
		return err
	}
	now := pace.now()
	closed := time.Duration(0)
	if pace.hold > 0 { // A caller that cannot come back later may as well try.
		closed = l.closed(now)
	}
	wait := max(closed, reserve(l.requests, now, 1), reserve(l.tokens, now, tokens))
	if pace.tooLong(ctx, wait) {
		l.giveBack(now, 1, tokens)
		l.leave()
		said := "the model's own limits are used up"
		if wait == closed {
			said = "the provider has told another call to wait"
		}
		return &Error{Class: RateLimited, Message: said, RetryAfter: wait}
	}
	if err := pace.sleep(ctx, wait); err != nil {
		l.giveBack(now, 1, tokens)
		l.leave()
		return gaveUp(err)
	}
	return nil
}

// take waits for a slot, at most as long as the caller allows.
func (l *limiter) take(ctx context.Context, pace pace) *Error {
	if l.slots == nil {
		return nil
	}
	var over <-chan time.Time
	if pace.hold > 0 {
		timer := time.NewTimer(pace.hold)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case l.slots <- struct{}{}:
		return nil
	case <-over:
		return &Error{
			Class: RateLimited, Message: fmt.Sprintf("the model's %d slots are taken", cap(l.slots)), RetryAfter: pace.hold,
		}
	case <-ctx.Done():
		return gaveUp(ctx.Err())
	}
}

// close blocks calls for as long as the provider has asked one of them to wait.
func (l *limiter) close(now time.Time, fail *Error) {
	if fail == nil || fail.RetryAfter <= 0 || fail.Class != RateLimited && fail.Class != Overloaded {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := now.Add(min(fail.RetryAfter, mostClosed)); until.After(l.until) {
		l.until = until
	}
}

// closed returns how long the provider still accepts no call.
func (l *limiter) closed(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, l.until.Sub(now))
}

// standing returns the room that the limits leave.
func (l *limiter) standing(now time.Time) Standing {
	left := func(r *rate.Limiter) *int {
		if r == nil {
			return nil
		}
		n := max(0, int(r.TokensAt(now)))
		return &n
	}
	s := Standing{Requests: left(l.requests), Tokens: left(l.tokens)}
	if l.slots != nil {
		n := cap(l.slots) - len(l.slots)
		s.Slots = &n
	}
	if wait := l.closed(now); wait > 0 {
		s.Closed = now.Add(wait)
	}
	return s
}

func (l *limiter) leave() {
	if l.slots != nil {
		<-l.slots
	}
}

// settle charges the usage beyond the estimate, which delays later calls.
func (l *limiter) settle(pace pace, estimated int, used Usage) {
	if l.tokens == nil {
		return
	}
	for debt := used.Total() - estimated; debt > 0; debt -= l.tokens.Burst() {
		reserve(l.tokens, pace.now(), debt)
	}
}

// giveBack refunds a call that was not made.
func (l *limiter) giveBack(now time.Time, requests, tokens int) {
	for _, r := range []struct {
		limiter *rate.Limiter
		n       int
	}{{l.requests, requests}, {l.tokens, tokens}} {
		if r.limiter != nil {
			r.limiter.ReserveN(now, -min(r.n, r.limiter.Burst()))
		}
	}
}

// reserve takes n, at most the burst, and returns how long to wait for it.
func reserve(l *rate.Limiter, now time.Time, n int) time.Duration {
	if l == nil {
		return 0
	}
	return l.ReserveN(now, min(n, l.Burst())).DelayFrom(now)
}
