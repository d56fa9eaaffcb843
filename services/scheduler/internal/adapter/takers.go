package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

const (
	// takersEvery is the age at which the knowledge about pools is read again; takersPause is the shortest pause between two
	// readings, as a multiple of the duration of a reading.
	takersEvery = 500 * time.Millisecond
	takersPause = 20
	// takersMost is the age up to which the knowledge is used at all. A runner that leaves announces this, and gives back the batches
	// that arrive until the schedulers know it.
	takersMost = bus.BatchLinger - 200*time.Millisecond
	// takersBound is how long one reading may take.
	takersBound = time.Second
)

// Takers reads from the cards of experts which pools accept batches. It reads the cards only while work is published. Takes may be
// called by any goroutine.
type Takers struct {
	bus *bus.Bus
	log *slog.Logger

	mu      sync.Mutex // Guards the fields below.
	pools   map[string]bool
	read    time.Time // When the reading of pools began.
	next    time.Time
	reading bool
	all     sync.WaitGroup
	stop    context.CancelFunc
	ctx     context.Context
}

// NewTakers returns a Takers that accepts no pool until its first reading has ended.
func NewTakers(b *bus.Bus, log *slog.Logger) *Takers {
	t := &Takers{bus: b, log: log}
	t.ctx, t.stop = context.WithCancel(context.Background())
	return t
}

// Takes implements loop.Takers.
func (t *Takers) Takes(pool string) bool {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.reading && !now.Before(t.next) && t.ctx.Err() == nil {
		t.reading = true
		t.all.Go(t.refresh) // Ends within takersBound, and is waited for by Close.
	}
	return t.pools[pool] && now.Sub(t.read) < takersMost
}

// Close ends a reading under way.
func (t *Takers) Close() {
	t.stop()
	t.all.Wait()
}

func (t *Takers) refresh() {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.ctx, takersBound)
	defer cancel()
	pools, err := t.ask(ctx)
	if err != nil && t.ctx.Err() == nil {
		t.log.Debug("cannot find out which pools take batches", "error", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reading = false
	t.next = time.Now().Add(max(takersEvery, takersPause*time.Since(begun)))
	if err == nil {
		t.pools, t.read = pools, begun
	}
}

// ask reads the cards, and the consumers of pools in which every card declares batches. A pool with a limited consumer takes none,
// because the limit counts messages.
func (t *Takers) ask(ctx context.Context) (map[string]bool, error) {
	list, err := t.bus.Experts().List(ctx)
	if err != nil {
		return nil, err
	}
	pools := map[string]bool{}
	for i := range list {
		var card events.Card
		if err := json.Unmarshal(list[i].Value, &card); err != nil {
			return nil, fmt.Errorf("read card %s: %w", list[i].Key, err)
		}
		if card.Pool == "" {
			card.Pool = events.DefaultPool
		}
		takes, known := pools[card.Pool]
		pools[card.Pool] = card.Batches && (takes || !known)
	}
	for pool, takes := range pools { // any order: pools are independent.
		if !takes {
			continue
		}
		facts, err := t.bus.Queues().Info(ctx, t.bus.Names().Work, t.bus.Queues().PoolConsumer(pool).Durable)
		if err != nil && !errors.Is(err, bus.ErrNotFound) {
			return nil, err
		}
		pools[pool] = err == nil && !facts.Bounded
	}
	return pools, nil
}
