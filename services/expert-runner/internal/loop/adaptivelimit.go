package loop

import (
	"context"
	"sync"
)

// adaptiveLimit bounds the messages that are in progress at once. It starts at the number of experts that may work at once, rises
// with every run that was quick, and falls back with one that was not: work that waits behind slow work is better left to another
// runner. Calls, whose runs wait for answers from elsewhere, have a separate limit and count only beyond it.
type adaptiveLimit struct {
	least, most, calls int

	mu      sync.Mutex // Guards hand, calling and limit.
	hand    int
	calling int // How many of those in progress are calls.
	limit   int
	room    chan struct{} // Holds a token if there may be room; one goroutine takes it, any may put it back.
}

// rise is how much a quick run raises the limit, so that a burst after a pause is in progress within a few round trips.
const rise = 4

func newAdaptiveLimit(least, most, calls int) *adaptiveLimit {
	return &adaptiveLimit{least: least, most: max(least, most), calls: calls, limit: least, room: make(chan struct{}, 1)}
}

// take waits for room and takes at most this many.
func (t *adaptiveLimit) take(ctx context.Context, most int) (int, error) {
	for {
		if n := t.try(most); n > 0 {
			return n, nil
		}
		select {
		case <-t.room:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (t *adaptiveLimit) try(most int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(most, t.limit-t.hand+min(t.calling, t.calls))
	if n > 0 {
		t.hand += n
	}
	return n
}

// give gives back places that were taken and not used.
func (t *adaptiveLimit) give(n int) {
	t.mu.Lock()
	t.hand -= n
	t.mu.Unlock()
	t.wake()
}

// call marks one message in progress as a call.
func (t *adaptiveLimit) call() {
	t.mu.Lock()
	t.calling++
	t.mu.Unlock()
	t.wake()
}

// done gives back one place and adapts the limit: call says whether it was a call, quick whether its run was quick. The speed of a
// call tells nothing about others.
func (t *adaptiveLimit) done(call, quick bool) {
	t.mu.Lock()
	t.hand--
	if call {
		t.calling--
	} else if quick {
		t.limit = min(t.limit+rise, t.most)
	} else {
		t.limit = t.least
	}
	t.mu.Unlock()
	t.wake()
}

func (t *adaptiveLimit) wake() {
	select {
	case t.room <- struct{}{}:
	default: // There is a token already.
	}
}
