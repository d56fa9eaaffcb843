package intake

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// lookEvery is how long information about the log is valid.
const lookEvery = time.Second

// reserve is how many bytes must be free on the disk of the store to admit anything, where that is known.
const reserve = 4 << 20

// Gate holds requests back while the log or its disk is too full: the remaining space belongs to admitted jobs.
type Gate struct {
	// Room is how many bytes are free on the disk of the store; nil when unknown.
	Room func() (uint64, error)
	// Told is called with the reason when the gate closes or the reason changes, and with "" when it opens; may be nil. It must not
	// call the gate.
	Told func(reason string)

	look func(context.Context) (bus.StreamFacts, error)
	most uint64
	full float64

	mu     sync.Mutex // Guards the fields below; held during the query, so that concurrent callers share one.
	seen   time.Time
	reason string
	cause  cause
}

// cause is what a closed gate waits for.
type cause struct {
	disk bool   // The request queue has no space either.
	hint string // What an operator can do to make room.
}

// NewGate makes a gate that closes if the log holds most bytes or more (0: no such limit), or is filled to this share of its own
// limits.
func NewGate(look func(context.Context) (bus.StreamFacts, error), most uint64, full float64) *Gate {
	return &Gate{look: look, most: most, full: full}
}

// Closed says why nothing is admitted now, or "". If the log cannot be queried, the last answer applies.
func (g *Gate) Closed(ctx context.Context) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.seen) < lookEvery {
		return g.reason
	}
	g.seen = time.Now()
	before := g.reason
	g.measure(ctx)
	if g.Told != nil && g.reason != before {
		g.Told(g.reason)
	}
	return g.reason
}

// measure finds out whether there is room. The caller holds the lock.
func (g *Gate) measure(ctx context.Context) {
	if g.Room != nil {
		if room, err := g.Room(); err == nil && room < reserve {
			g.reason = fmt.Sprintf("the disk of the store is full: %d KiB are free, and %d KiB are kept for jobs that were admitted", room>>10, reserve>>10)
			g.cause = cause{disk: true, hint: "free room on the disk, or `jobgraph delete` jobs that have ended"}
			return
		}
	}
	facts, err := g.look(ctx)
	switch {
	case err != nil:
	case g.most > 0 && facts.Bytes >= g.most:
		g.reason = fmt.Sprintf("the log holds %d bytes, the high-water mark is %d", facts.Bytes, g.most)
		g.cause = cause{hint: "`jobgraph delete` jobs that have ended, or raise --intake-high-water of the schedulers"}
	case facts.Full() >= g.full:
		g.reason = fmt.Sprintf("the log is full to %d %%", int(facts.Full()*100))
		g.cause = cause{hint: "`jobgraph delete` jobs that have ended, or raise the limits of the stream"}
	default:
		g.reason, g.cause = "", cause{}
	}
}

// Fault says why no job is admitted now, and what makes room; nil if jobs are admitted.
func (g *Gate) Fault(ctx context.Context) *events.Fault {
	reason := g.Closed(ctx)
	if reason == "" {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	f := &events.Fault{Code: events.CodeUnavailable, Message: "no job is admitted now", Cause: reason, Hint: g.cause.hint}
	if g.cause.disk {
		f.Field = "disk"
	}
	return f
}

// Refusal says why a request that needs an immediate answer is not admitted now; nil if it is. If the disk is full, the request
// queue has no space either, and the fault names the field "disk".
func (g *Gate) Refusal(ctx context.Context, queue string) *events.Fault {
	f := g.Fault(ctx)
	switch {
	case f == nil:
	case f.Field == "disk":
		f.Hint += ", and submit again"
	default:
		f.Hint = "publish the request on " + queue + ": the queue keeps it until there is room"
	}
	return f
}
