package bus

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// presence records since when the connection to the broker has not been interrupted, as far as is known.
type presence struct {
	mu    sync.Mutex // Guards since.
	since time.Time  // According to the local clock.
}

// interrupted records an interruption: a lost or new connection, a missed heartbeat, a missing answer.
func (p *presence) interrupted() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = time.Now()
}

// lasts returns the time since the last interruption.
func (p *presence) lasts() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.since)
}

// Clock returns the broker's time, which stamps all records, and since when, in that time, the connection has had no
// interruption known to this process. During that time every writer could reach the bus. Errors: ErrUnavailable.
func (b *Bus) Clock(ctx context.Context) (now, since time.Time, err error) {
	lasts := b.presence.lasts() // Taken before the request, since the answer may be slow.
	s, err := b.js.Stream(ctx, b.names.Journal)
	if err != nil {
		return now, since, fmt.Errorf("read the broker's clock: %w", class(err))
	}
	now = s.CachedInfo().TimeStamp
	return now, now.Add(-lasts), nil
}
