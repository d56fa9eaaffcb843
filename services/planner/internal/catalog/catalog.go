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
	// seen is the revision up to which the bucket was read; further closes when it rises.
	seen    uint64
	further chan struct{}
}

// New returns a catalog that is empty until Run has read the bucket.
func New(bucket Bucket, log *slog.Logger) *Catalog {
	return &Catalog{bucket: bucket, log: log, changed: make(chan struct{}), further: make(chan struct{})}
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

// apply applies one change. It reports whether the change matters to planning.
func (c *Catalog) apply(cards map[string]events.Card, e bus.Entry) (changed bool) {
	old, had := cards[e.Key]
	if e.Deleted {
		delete(cards, e.Key)
		return had
	}
	card, err := read(e)
	if err != nil {
		c.log.Warn("ignoring an invalid card", "expert", e.Key, "error", err)
		delete(cards, e.Key)
		return had
	}
	cards[e.Key] = card
	return !had || !reflect.DeepEqual(old, card)
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

// publish makes a set of cards visible to planning. Built-in experts are left out if there are others.
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
