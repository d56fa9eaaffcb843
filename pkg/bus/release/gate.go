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
	// again is the age after which levels are read again in the background; most is the age up to which they are used without
	// waiting for a reading, and kept that up to which they are used if readings fail: a busy bus is no reason to lower a level.
	again, most, kept = time.Second, 3 * time.Second, time.Minute
	// bound limits the duration of a reading, and so the wait of a process that has heard no instance yet, not even itself: a bus
	// that takes longer acknowledges no event either. patient limits the wait of one that has.
	bound, patient = 5 * time.Second, time.Second
	// pause is the delay after a failed reading, as a multiple of that reading's duration; soon is the delay of the first reading
	// between two questions that no instance has answered.
	pause, soon = 2, 100 * time.Millisecond
	// remembered is how long an instance still counts that no longer answers: it may only be slow.
	remembered = 10 * time.Second
)

// Source lists the instances of a service.
type Source interface {
	// Peers calls each for every instance that answers, one after the other.
	Peers(ctx context.Context, service string, each func(bus.Peer)) error
}

// Gate knows the common capabilities of all live instances of one service. It reads them only when asked. It is safe for
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
	read    time.Time     // When the reading began that produced least.
	next    time.Time     // No reading begins before this time.
	reading bool          // A reading is running.
	failed  bool          // The last reading timed out, or no instance has ever answered: do not wait for the next.
	answer  chan struct{} // Closed when the reading has its result; nil if no caller waits.
}

// instance is what the gate knows about an instance that has answered.
type instance struct {
	knows Levels
	seen  time.Time
}

// NewGate returns a gate that has read nothing yet.
func NewGate(source Source, s Service, log *slog.Logger) *Gate {
	g := &Gate{source: source, service: s, log: log, live: map[string]instance{}}
	g.ctx, g.stop = context.WithCancel(context.Background())
	return g
}

// Level returns the highest level of a capability that every live instance knows. If readings fail, the levels that were heard
// last count until they are older than kept. If none has been heard, it returns the level of an instance that declares nothing.
func (g *Gate) Level(ctx context.Context, c Capability) int {
	if least, known := g.known(ctx); known {
		return least[c]
	}
	return declared(g.service, nil)[c]
}

// Live lists the live instances in one text, which changes when one comes or goes; known is false if they cannot be found
// out.
func (g *Gate) Live(ctx context.Context) (ids string, known bool) {
	_, known = g.known(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(g.live)), " "), known
}

// Close ends a running reading and waits for it.
func (g *Gate) Close() {
	g.stop()
	g.all.Wait()
}

// known returns the common levels. It waits for a reading only if the cached levels are too old.
func (g *Gate) known(ctx context.Context) (least Levels, known bool) {
	least, fresh, answer := g.look()
	if fresh {
		return least, true
	}
	if answer != nil {
		most := bound
		if least != nil {
			most = patient
		}
		timer := time.NewTimer(most)
		defer timer.Stop()
		select {
		case <-answer:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.least, time.Since(g.read) < kept
}

// look returns the cached levels, whether they are fresh, and what to wait for if they are not, and starts a reading.
func (g *Gate) look() (least Levels, fresh bool, answer chan struct{}) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.reading && !now.Before(g.next) && g.ctx.Err() == nil {
		g.reading = true
		if !g.failed {
			g.answer = make(chan struct{})
		}
		g.all.Go(g.refresh) // Ends within bound; Close waits for it.
	}
	return g.least, now.Sub(g.read) < most, g.answer
}

// refresh reads the levels. Once all known instances have answered, waiting callers get the result; the rest of the reading
// looks for further instances.
func (g *Gate) refresh() {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(g.ctx, bound)
	defer cancel()
	g.mu.Lock()
	missing, first := maps.Clone(g.live), g.least == nil
	g.mu.Unlock()
	err := g.ask(ctx, first, func(p bus.Peer) {
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
	g.reading, g.failed = false, err != nil && (first || !errors.Is(err, bus.ErrNobody))
	if err == nil {
		g.next = begun.Add(again)
		g.judge(begun)
		return
	}
	g.next = time.Now().Add(max(again, pause*time.Since(begun)))
	g.settle()
	if g.ctx.Err() == nil {
		g.log.Debug("cannot read the capabilities of other services", "service", string(g.service), "error", err)
	}
}

// ask is one question for the instances. The first reading repeats it until one answers, since this process has not declared
// itself yet.
func (g *Gate) ask(ctx context.Context, first bool, each func(bus.Peer)) error {
	for {
		err := g.source.Peers(ctx, string(g.service), each)
		if !first || !errors.Is(err, bus.ErrNobody) {
			return err
		}
		select {
		case <-time.After(soon):
		case <-ctx.Done():
			return err
		}
	}
}

// settle releases the callers that wait for the reading. The caller holds the lock.
func (g *Gate) settle() {
	if g.answer != nil {
		close(g.answer)
		g.answer = nil
	}
}

// judge forgets instances that have not answered for too long and computes the minimum over the others. The caller holds
// the lock.
func (g *Gate) judge(begun time.Time) {
	defer g.settle()
	g.read = begun
	maps.DeleteFunc(g.live, func(_ string, i instance) bool { return begun.Sub(i.seen) >= remembered })
	least := Of(g.service)
	for _, i := range g.live { // any order: the minimum is the same.
		for c, level := range i.knows {
			least[c] = min(least[c], level)
		}
	}
	if g.least != nil && !maps.Equal(g.least, least) {
		g.log.Info("the common capabilities of live services have changed", "service", string(g.service), "before", g.least, "now", least, "instances", len(g.live))
	}
	g.least = least
}
