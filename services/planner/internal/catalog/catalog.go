package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Bucket is where cards are kept: bus.KV over the bucket of experts.
type Bucket interface {
	Watch(ctx context.Context, ready func(), seen func(bus.Entry)) (stop func(), err error)
	Last(ctx context.Context) (revision uint64, err error)
}

// Catalog holds the cards as they stand. Cards may be called by any goroutine.
type Catalog struct {
	bucket Bucket
	log    *slog.Logger

	mu      sync.Mutex // Guards the fields below.
	cards   []events.Card
	changed chan struct{}
	// seen is the revision up to which the bucket is known, and further closes when that rises.
	seen    uint64
	further chan struct{}
}

// New is empty until Run has read the bucket.
func New(bucket Bucket, log *slog.Logger) *Catalog {
	return &Catalog{bucket: bucket, log: log, changed: make(chan struct{}), further: make(chan struct{})}
}

// Cards gives the cards in the order of their ids, and a channel that closes when they change. The slice is shared: no caller
// changes it.
func (c *Catalog) Cards() ([]events.Card, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cards, c.changed
}

// freshBound is how long Fresh waits at most. A revision is never seen when its message was removed without a trace.
const freshBound = 500 * time.Millisecond

// Fresh gives the cards with all that was announced before the call. When the bucket does not say in time what that is, it gives
// those that are known.
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

// retryWatch is the wait before a bucket that could not be read is asked again.
const retryWatch = time.Second

// Run follows the bucket until ctx ends. It calls ready once, when the cards were read for the first time, and starts over
// with each value of again, sent after a reconnect: what changed meanwhile may have been missed.
func (c *Catalog) Run(ctx context.Context, ready func(), again <-chan struct{}) error {
	ready = sync.OnceFunc(ready)
	for ctx.Err() == nil {
		stop, err := c.follow(ctx, ready)
		if err != nil {
			c.log.Warn("cards of experts cannot be read, trying again", "error", err)
			rest(ctx)
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

// rest waits a moment, or for the end of ctx.
func rest(ctx context.Context) {
	timer := time.NewTimer(retryWatch)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// follow builds a fresh set of cards: it replaces the present one when the bucket was read to its end, and is kept up to
// date from then on. All calls of a watch come from its one goroutine.
func (c *Catalog) follow(ctx context.Context, ready func()) (stop func(), err error) {
	fresh := map[string]events.Card{}
	complete := false
	seen, err := c.bucket.Last(ctx)
	if err != nil {
		return nil, err
	}
	return c.bucket.Watch(ctx, func() {
		complete = true
		c.publish(fresh)
		c.reach(seen)
		ready()
	}, func(e bus.Entry) {
		changed := c.apply(fresh, e)
		seen = max(seen, e.Revision)
		if !complete {
			return
		}
		if changed {
			c.publish(fresh)
		}
		c.reach(seen)
	})
}

// reach says up to which revision the bucket is known.
func (c *Catalog) reach(revision uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if revision != c.seen {
		c.seen = revision
		close(c.further)
		c.further = make(chan struct{})
	}
}

// apply takes one change over; it reports whether planning could notice.
func (c *Catalog) apply(cards map[string]events.Card, e bus.Entry) (changed bool) {
	old, had := cards[e.Key]
	if e.Deleted {
		delete(cards, e.Key)
		return had
	}
	card, err := read(e)
	if err != nil {
		c.log.Warn("card of an expert is left out", "expert", e.Key, "error", err)
		delete(cards, e.Key)
		return had
	}
	cards[e.Key] = card
	return !had || !reflect.DeepEqual(old, card)
}

// read decodes a card. Who announced it and when is forgotten: each sign of life changes that, and nothing else. How its program is
// kept is for operators.
func read(e bus.Entry) (events.Card, error) {
	var card events.Card
	if err := json.Unmarshal(e.Value, &card); err != nil {
		return card, fmt.Errorf("read card: %w", err)
	}
	if card.ID != e.Key || !events.ValidID(card.ID) {
		return card, fmt.Errorf("read card: its id is %.80q", card.ID)
	}
	card.Runner, card.Seen, card.Batches = "", time.Time{}, false
	kept := func(tag string) bool { return strings.HasPrefix(tag, events.SandboxTag) }
	if card.Tags = slices.DeleteFunc(card.Tags, kept); len(card.Tags) == 0 {
		card.Tags = nil
	}
	return card, nil
}

// builtin experts stand in where there is no other expert.
func builtin(card events.Card) bool { return slices.Contains(card.Tags, events.BuiltinTag) }

// publish shows a set of cards to planning. Experts that come with the program are left out where there are others.
func (c *Catalog) publish(cards map[string]events.Card) {
	list := make([]events.Card, 0, len(cards))
	for _, card := range cards {
		list = append(list, card)
	}
	slices.SortFunc(list, func(a, b events.Card) int { return cmp.Compare(a.ID, b.ID) })
	if own := slices.DeleteFunc(slices.Clone(list), builtin); len(own) > 0 {
		list = own
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cards = list
	close(c.changed)
	c.changed = make(chan struct{})
}
