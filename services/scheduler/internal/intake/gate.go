package intake

import (
	"context"
	"errors"
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

const (
	// tryEvery is how long a server must have been asked to store nothing before a request is admitted although it is mute, as a test.
	tryEvery = 10 * time.Second
	// probeEvery is how long it is known that the server stores something; probeBound is how long it may take, probeAgain the same after
	// it has not done so, since who asks may not wait any longer.
	probeEvery = 10 * time.Second
	probeBound = 3 * time.Second
	probeAgain = time.Second
)

// Gate holds requests back while the log or its disk is too full: the remaining space belongs to admitted jobs. It does the same while
// the server acknowledges nothing.
type Gate struct {
	// Room is how many bytes are free on the disk of the store; nil when unknown.
	Room func() (uint64, error)
	// Mute says whether the server has stopped acknowledging what is published into the log. Probe asks it to store something and
	// returns an error that is bus.ErrUnknown if it does not, or bus.ErrFull. Both may be nil.
	Mute  func() bus.Mute
	Probe func(ctx context.Context) error
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
	mute   time.Time // Since when a mute server was asked to store nothing; zero for one that acknowledges.

	asking sync.Mutex // Guards the fields below; held during the probe.
	probed time.Time  // When the server has last stored a probe.
	silent bool       // It has not acknowledged the latest one.
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
	if g.isMute() {
		return
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

// isMute finds out whether the server acknowledges nothing. The caller holds the lock.
func (g *Gate) isMute() bool {
	var m bus.Mute
	if g.Mute != nil {
		m = g.Mute()
	}
	if !m.Is() {
		g.mute = time.Time{}
		return false
	}
	if m.Last.After(g.mute) {
		g.mute = m.Last
	}
	g.reason, g.cause = m.String(), cause{disk: true, hint: bus.MuteHint}
	return true
}

// Try reports whether one request may be admitted although the gate is closed: only so can it be found out that a mute server has begun
// to acknowledge again.
func (g *Gate) Try() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mute.IsZero() || time.Since(g.mute) < tryEvery {
		return false
	}
	g.mute = time.Now()
	return true
}

// Ask is Fault, but finds out first whether the server stores anything.
func (g *Gate) Ask(ctx context.Context) *events.Fault {
	if f := g.Fault(ctx); f != nil || g.Probe == nil {
		return f
	}
	g.asking.Lock()
	defer g.asking.Unlock()
	if time.Since(g.probed) < probeEvery {
		return nil
	}
	patience := probeBound
	if g.silent {
		patience = probeAgain
	}
	bound, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := g.Probe(bound)
	g.silent = errors.Is(err, bus.ErrUnknown)
	switch {
	case err == nil:
		g.probed = time.Now()
		return nil
	case errors.Is(err, bus.ErrFull):
		return closed(err.Error(), cause{disk: true, hint: bus.MuteHint})
	case g.silent && ctx.Err() == nil:
		return closed(fmt.Sprintf("the server has acknowledged nothing within %s; its disk may be full", patience), cause{disk: true, hint: bus.MuteHint})
	}
	return nil
}

// closed is the fault of a closed gate.
func closed(reason string, c cause) *events.Fault {
	f := &events.Fault{Code: events.CodeUnavailable, Message: "no job is admitted now", Cause: reason, Hint: c.hint}
	if c.disk {
		f.Field = "disk"
	}
	return f
}

// Fault says why no job is admitted now, and what makes room; nil if jobs are admitted.
func (g *Gate) Fault(ctx context.Context) *events.Fault {
	reason := g.Closed(ctx)
	if reason == "" {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return closed(reason, g.cause)
}

// Refusal says why a request that needs an immediate answer is not admitted now; nil if it is, or is a test (Try). If the disk is full, the request
// queue has no space either, and the fault names the field "disk".
func (g *Gate) Refusal(ctx context.Context, queue string) *events.Fault {
	f := g.Fault(ctx)
	switch {
	case f == nil || g.Try():
		return nil
	case f.Field == "disk":
		f.Hint += ", and submit again"
	default:
		f.Hint = "publish the request on " + queue + ": the queue keeps it until there is room"
	}
	return f
}
