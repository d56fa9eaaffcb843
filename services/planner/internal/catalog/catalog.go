package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// Bucket is the bucket of cards: bus.KV over the bucket of experts.
type Bucket interface {
	Watch(ctx context.Context, ready func(), seen func(bus.Entry)) (stop func(), err error)
	Last(ctx context.Context) (revision uint64, err error)
}

// Catalog holds the present cards. Cards may be called from any goroutine.
type Catalog struct {
	bucket Bucket
	log    *slog.Logger

	mu      sync.Mutex // Guards the fields below.
	cards   []events.Card
	changed chan struct{}
	// present are the cards in the bucket, as far as it was read; absent those that are kept for a while without being there.
	present map[string]events.Card
	absent  map[string]absentee
	// seen is the revision up to which the bucket was read; further closes when it rises.
	seen    uint64
	further chan struct{}
}

// absentee is a card that is not in the bucket, and the time until which it is kept.
type absentee struct {
	card  events.Card
	until time.Time
}

// grace is how long a card is kept that expired, or that is missing after a reconnect, without having been withdrawn: after an outage of
// the bus its runner is about to announce it again, and until then the work for it waits in the queue.
const grace = 30 * time.Second

// New returns a catalog that is empty until Run has read the bucket.
func New(bucket Bucket, log *slog.Logger) *Catalog {
	return &Catalog{bucket: bucket, log: log, changed: make(chan struct{}), further: make(chan struct{}), absent: map[string]absentee{}}
}

// Cards returns the cards sorted by id, and a channel that closes when they change. The slice is shared and must not be
// changed.
func (c *Catalog) Cards() ([]events.Card, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cards, c.changed
}

// freshBound is how long Fresh waits at most. A revision whose message was removed without a trace is never seen.
const freshBound = 500 * time.Millisecond

// Fresh returns the cards, including everything announced before the call. If the bucket does not answer in time, it
// returns the cards known so far.
func (c *Catalog) Fresh(ctx context.Context) []events.Card {
	ctx, cancel := context.WithTimeout(ctx, freshBound)
	defer cancel()
	last, err := c.bucket.Last(ctx)
	for err == nil {
		c.mu.Lock()
		seen, further := c.seen, c.further
		c.mu.Unlock()
		if seen >= last {
			break
		}
		select {
		case <-further:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	cards, _ := c.Cards()
	return cards
}

// retryWatch is the wait before another attempt to read the bucket.
const retryWatch = time.Second

// Run follows the bucket until ctx ends. It calls ready once, after the first complete read, and starts over with each
// value from again, which arrives after a reconnect, because changes may have been missed.
func (c *Catalog) Run(ctx context.Context, ready func(), again <-chan struct{}) error {
	ready = sync.OnceFunc(ready)
	for ctx.Err() == nil {
		stop, err := c.follow(ctx, ready)
		if err != nil {
			c.log.Warn("cannot read the cards of experts; retrying", "error", err)
			_ = lease.Pause(ctx, retryWatch) // Fails only when ctx ends, which the loop sees.
			continue
		}
		select {
		case <-ctx.Done():
		case <-again:
		}
		stop()
	}
	return nil
}

// follow builds a new set of cards. It replaces the present set once the bucket was read completely, and is kept up to date
// from then on. A watch makes all its calls from one goroutine.
func (c *Catalog) follow(ctx context.Context, ready func()) (stop func(), err error) {
	fresh, withdrawn := map[string]events.Card{}, map[string]bool{}
	complete := false
	seen, err := c.bucket.Last(ctx)
	if err != nil {
		return nil, err
	}
	return c.bucket.Watch(ctx, func() {
		complete = true
		c.replace(fresh, withdrawn)
		c.reach(seen)
		ready()
	}, func(e bus.Entry) {
		seen = max(seen, e.Revision)
		card, there := c.read(e)
		if complete {
			c.apply(&card, there, e.Expired)
			c.reach(seen)
			return
		}
		delete(fresh, e.Key)
		if there {
			fresh[e.Key] = card
		}
		withdrawn[e.Key] = !there && !e.Expired
	})
}

// reach records the revision up to which the bucket was read.
func (c *Catalog) reach(revision uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if revision != c.seen {
		c.seen = revision
		close(c.further)
		c.further = make(chan struct{})
	}
}

// replace makes a set the present one. It keeps what is missing in it and was not withdrawn.
func (c *Catalog) replace(fresh map[string]events.Card, withdrawn map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.present
	c.present = fresh
	for id, card := range before { // any order: cards are independent.
		c.settle(&card, withdrawn[id])
	}
	for id, a := range c.absent { // any order: cards are independent.
		c.settle(&a.card, withdrawn[id])
	}
	c.publish()
}

// apply applies one change. Planning is told only of what matters to it.
func (c *Catalog) apply(card *events.Card, there, expired bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, had := c.present[card.ID]
	if !had {
		var a absentee
		a, had = c.absent[card.ID]
		old = a.card
	}
	if there {
		c.present[card.ID] = *card
	} else {
		delete(c.present, card.ID)
	}
	if had {
		c.settle(&old, !there && !expired)
	}
	if _, kept := c.absent[card.ID]; had && !there && !kept || there && (!had || !reflect.DeepEqual(old, *card)) {
		c.publish()
	}
}

// settle decides whether a card that was known is kept, which was withdrawn or not. The caller holds the lock.
func (c *Catalog) settle(card *events.Card, withdrawn bool) {
	_, there := c.present[card.ID]
	_, kept := c.absent[card.ID]
	switch {
	case there || withdrawn:
		delete(c.absent, card.ID)
	case !kept:
		c.absent[card.ID] = absentee{*card, time.Now().Add(grace)}
		c.log.Info("an expert is no longer announced; it is kept for a while", "expert", card.ID, "for", grace)
		time.AfterFunc(grace, c.forget)
	}
}

// forget drops the cards that were kept long enough.
func (c *Catalog) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, before := time.Now(), len(c.absent)
	maps.DeleteFunc(c.absent, func(_ string, a absentee) bool { return !now.Before(a.until) })
	if len(c.absent) < before {
		c.publish()
	}
}

// read decodes a change. there is false for a card that is gone or cannot be read.
func (c *Catalog) read(e bus.Entry) (card events.Card, there bool) {
	if e.Deleted {
		return events.Card{ID: e.Key}, false
	}
	card, err := read(e)
	if err != nil {
		c.log.Warn("ignoring an invalid card", "expert", e.Key, "error", err)
		return events.Card{ID: e.Key}, false
	}
	return card, true
}

// read decodes a card. It drops the fields that every heartbeat changes, who announced the card and when, and those about
// how its program is run, which only operators need.
func read(e bus.Entry) (events.Card, error) {
	var card events.Card
	if err := json.Unmarshal(e.Value, &card); err != nil {
		return card, fmt.Errorf("read card: %w", err)
	}
	if card.ID != e.Key || !events.ValidID(card.ID) {
		return card, fmt.Errorf("read card: its id is %.80q", card.ID)
	}
	card.Runner, card.Seen, card.Batches = "", time.Time{}, false
	kept := func(tag string) bool {
		return strings.HasPrefix(tag, events.SandboxTag) || strings.HasPrefix(tag, events.ToolsTag)
	}
	if card.Tags = slices.DeleteFunc(card.Tags, kept); len(card.Tags) == 0 {
		card.Tags = nil
	}
	return card, nil
}

// builtin reports whether an expert comes with the program.
func builtin(card events.Card) bool { return slices.Contains(card.Tags, events.BuiltinTag) }

// publish makes the cards visible to planning. Built-in experts are left out if there are others. The caller holds the lock.
func (c *Catalog) publish() {
	list := slices.AppendSeq(make([]events.Card, 0, len(c.present)+len(c.absent)), maps.Values(c.present))
	for _, a := range c.absent { // any order: they are sorted below.
		list = append(list, a.card)
	}
	slices.SortFunc(list, func(a, b events.Card) int { return cmp.Compare(a.ID, b.ID) })
	if own := slices.DeleteFunc(slices.Clone(list), builtin); len(own) > 0 {
		list = own
	}
	c.cards = list
	close(c.changed)
	c.changed = make(chan struct{})
}
