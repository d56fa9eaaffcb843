package release

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
)

const (
	// again is how old what is known becomes before it is read again, beside those who ask; most how old it may be to be used.
	again, most = time.Second, 3 * time.Second
	// pause is the time without another read after a failed one, as a multiple of how long that took.
	pause = 10
	// bound is how long a reading may take.
	bound = time.Second
	// remembered is how long an instance counts that does not answer any more: it may only be slow.
	remembered = 10 * time.Second
)

// Source asks the instances of a service who they are.
type Source interface {
	// Peers calls each for every instance that answers, one after the other.
	Peers(ctx context.Context, service string, each func(bus.Peer)) error
}

// Gate knows what all live instances of one service know. It reads that when it is asked, and not otherwise. It is safe for
// concurrent use.
type Gate struct {
	source  Source
	service Service
	log     *slog.Logger
	ctx     context.Context
	stop    context.CancelFunc
	all     sync.WaitGroup

	mu      sync.Mutex // Guards the fields below.
	live    map[string]instance
	least   Levels
	read    time.Time     // When the reading began that least is of.
	next    time.Time     // No read before this.
	reading bool          // One is under way.
	failed  bool          // The last one brought no answer although it took its time: the next is not waited for.
	answer  chan struct{} // Closed when it has brought what is wanted; nil when that is not waited for.
}

// instance is one that has answered.
type instance struct {
	knows Levels
	seen  time.Time
}

// NewGate knows nothing at first.
func NewGate(source Source, s Service, log *slog.Logger) *Gate {
	g := &Gate{source: source, service: s, log: log, live: map[string]instance{}}
	g.ctx, g.stop = context.WithCancel(context.Background())
	return g
}

// Level is the highest level of a capability that every live instance knows; that of one which declares nothing when it cannot be
// found out soon.
func (g *Gate) Level(ctx context.Context, c Capability) int {
	if least, known := g.known(ctx); known {
		return least[c]
	}
	return declared(g.service, nil)[c]
}

// Lately is Level for those who must not wait: the level of an instance that declares nothing while what is known is too old.
func (g *Gate) Lately(c Capability) int {
	if least, known, _ := g.look(); known {
		return least[c]
	}
	return declared(g.service, nil)[c]
}

// Live names the live instances in one text, which changes when one comes or goes; known is false when that cannot be found out.
func (g *Gate) Live(ctx context.Context) (ids string, known bool) {
	_, known = g.known(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(g.live)), " "), known
}

// Close ends a reading under way.
func (g *Gate) Close() {
	g.stop()
	g.all.Wait()
}

// known gives what all know; it waits for a reading only when what is known is too old.
func (g *Gate) known(ctx context.Context) (least Levels, known bool) {
	least, known, answer := g.look()
	if known || answer == nil {
		return least, known
	}
	select {
	case <-answer:
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.least, time.Since(g.read) < most
}

// look gives what is known, and begins a reading when it is not new.
func (g *Gate) look() (least Levels, known bool, answer chan struct{}) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.reading && !now.Before(g.next) && g.ctx.Err() == nil {
		g.reading = true
		if !g.failed {
			g.answer = make(chan struct{})
		}
		g.all.Go(g.refresh) // Ends within bound, and is waited for by Close.
	}
	return g.least, now.Sub(g.read) < most, g.answer
}

// refresh reads. When all have answered of whom is known that is the answer already; the rest of the reading looks for others.
func (g *Gate) refresh() {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(g.ctx, bound)
	defer cancel()
	g.mu.Lock()
	missing := maps.Clone(g.live)
	g.mu.Unlock()
	err := g.source.Peers(ctx, string(g.service), func(p bus.Peer) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.live[p.ID] = instance{declared(g.service, p.Metadata), begun}
		if _, expected := missing[p.ID]; expected {
			if delete(missing, p.ID); len(missing) == 0 {
				g.judge(begun)
			}
		}
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reading, g.failed = false, err != nil && !errors.Is(err, bus.ErrNobody)
	if err == nil {
		g.next = begun.Add(again)
		g.judge(begun)
		return
	}
	g.next = time.Now().Add(max(again, pause*time.Since(begun)))
	g.settle()
	if g.ctx.Err() == nil {
		g.log.Debug("it is not known what other services know", "service", string(g.service), "error", err)
	}
}

// settle lets go on who waits for the reading. It needs the lock.
func (g *Gate) settle() {
	if g.answer != nil {
		close(g.answer)
		g.answer = nil
	}
}

// judge forgets who has not answered for too long, and takes the least of what the others know. It needs the lock.
func (g *Gate) judge(begun time.Time) {
	defer g.settle()
	g.read = begun
	maps.DeleteFunc(g.live, func(_ string, i instance) bool { return begun.Sub(i.seen) >= remembered })
	least := Of(g.service)
	for _, i := range g.live { // any order: the least is the same in each.
		for c, level := range i.knows {
			least[c] = min(least[c], level)
		}
	}
	if g.least != nil && !maps.Equal(g.least, least) {
		g.log.Info("what all live services know has changed", "service", string(g.service), "before", g.least, "now", least, "instances", len(g.live))
	}
	g.least = least
}
