package bus

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// presence is since when nothing is known to have kept this process from the broker.
type presence struct {
	mu    sync.Mutex // Guards since.
	since time.Time  // By our clock.
}

// interrupted notes a break: a connection that was lost or is new, a sign of life that did not come, an answer that did not.
func (p *presence) interrupted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = time.Now()
}

// lasts is how long there was none.
func (p *presence) lasts() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.since)
}

// Clock gives the broker's time, in which all records are stamped, and since when in that time the broker has been there without a
// break, as far as this process knows. Every writer could reach the bus in that time. Errors: ErrUnavailable.
func (b *Bus) Clock(ctx context.Context) (now, since time.Time, err error) {
	lasts := b.presence.lasts() // From before the question: the answer may be long in coming.
	s, err := b.js.Stream(ctx, b.names.Journal)
	if err != nil {
		return now, since, fmt.Errorf("read the broker's clock: %w", class(err))
	}
	now = s.CachedInfo().TimeStamp
	return now, now.Add(-lasts), nil
}
