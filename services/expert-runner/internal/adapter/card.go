package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

// CardTTL is how long a card stays in the catalogue after its runner's last announcement.
const CardTTL = 30 * time.Second

// leaveBound is the time limit of the last announcement.
const leaveBound = 2 * time.Second

// Announcer keeps the cards of one runner in the catalogue. It belongs to one goroutine.
type Announcer struct {
	bus   *bus.Bus
	owner string
	cards []events.Card
	// batches says whether this runner takes batches of a pool.
	batches func(pool string) bool
	// secrets are removed from the cards: remote agents write parts of theirs.
	secrets *redact.Set
	log     *slog.Logger
}

// NewAnnouncer makes an announcer for the owner's cards. They must be announced more often than CardTTL. batches is asked at each
// announcement whether this runner takes batches of a pool.
func NewAnnouncer(b *bus.Bus, owner string, cards []events.Card, batches func(pool string) bool, secrets *redact.Set, log *slog.Logger) *Announcer {
	return &Announcer{bus: b, owner: owner, cards: cards, batches: batches, secrets: secrets, log: log}
}

// Set changes the cards for the next time.
func (a *Announcer) Set(cards []events.Card) { a.cards = cards }

// Announce puts every card into the catalogue, once.
func (a *Announcer) Announce(ctx context.Context) error {
	entries := make([]bus.Entry, len(a.cards))
	for i, card := range a.cards {
		card.Runner, card.Seen, card.Batches = a.owner, time.Now().UTC(), a.batches(card.Pool)
		body, err := json.Marshal(card)
		if err != nil {
			return fmt.Errorf("announce %s: %w", card.ID, err)
		}
		entries[i] = bus.Entry{Key: card.ID, Value: a.secrets.Redactor().JSON(body)}
	}
	if err := a.bus.Experts().PutAll(ctx, entries, CardTTL); err != nil {
		return fmt.Errorf("announce: %w", err)
	}
	return nil
}

// Withdraw removes a card from the catalogue, unless another runner, which also serves the expert, has announced it since.
func (a *Announcer) Withdraw(ctx context.Context, id string) error {
	body, _, err := a.bus.Experts().GetLeader(ctx, id)
	if errors.Is(err, bus.ErrNotFound) {
		return nil
	}
	var card events.Card
	if err == nil && json.Unmarshal(body, &card) == nil && card.Runner != a.owner {
		return nil
	}
	if err == nil {
		err = a.bus.Experts().Delete(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("withdraw %s: %w", id, err)
	}
	return nil
}

// Leave announces the cards for the last time: they stay for CardTTL, so that the experts of a restarting runner stay known. The
// cards of a runner that stays away expire. They no longer declare batches, because the next runner may be of a release that does
// not take them.
func (a *Announcer) Leave(ctx context.Context) {
	a.batches = func(string) bool { return false }
	ctx, stop := context.WithTimeout(ctx, leaveBound)
	defer stop()
	if err := a.Announce(ctx); err != nil {
		a.log.Warn("cannot announce cards before the end", "error", err)
	}
}
