package wire

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

// CardTTL is how long a card stays in the catalogue after its runner last said it lives.
const CardTTL = 30 * time.Second

// leaveBound is how long announcing the cards for the last time may take.
const leaveBound = 2 * time.Second

// Announcer keeps the cards of one runner in the catalogue. It belongs to one goroutine.
type Announcer struct {
	bus   *bus.Bus
	owner string
	cards []events.Card
	// batches says whether work of a pool is taken in batches here.
	batches func(pool string) bool
	// secrets are taken out of the cards: remote agents write parts of theirs.
	secrets *redact.Set
	log     *slog.Logger
}

// NewAnnouncer is an announcer for the owner's cards. To be known, they have to be announced more often than CardTTL.
// batches says at each announcement whether work of a pool is taken in batches here.
func NewAnnouncer(b *bus.Bus, owner string, cards []events.Card, batches func(pool string) bool, secrets *redact.Set, log *slog.Logger) *Announcer {
	return &Announcer{bus: b, owner: owner, cards: cards, batches: batches, secrets: secrets, log: log}
}

// Set changes the cards for the next time.
func (a *Announcer) Set(cards []events.Card) { a.cards = cards }

// Announce puts every card into the catalogue, once.
func (a *Announcer) Announce(ctx context.Context) error {
	for _, card := range a.cards {
		card.Runner, card.Seen, card.Batches = a.owner, time.Now().UTC(), a.batches(card.Pool)
		body, err := json.Marshal(card)
		if err != nil {
			return fmt.Errorf("announce %s: %w", card.ID, err)
		}
		if _, err := a.bus.Experts().Put(ctx, card.ID, a.secrets.Redactor().JSON(body), CardTTL); err != nil {
			return fmt.Errorf("announce %s: %w", card.ID, err)
		}
	}
	return nil
}

// Withdraw takes a card out of the catalogue, unless another runner has announced it since: it serves the expert, too.
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

// Leave announces the cards for the last time: they stay for CardTTL, so that a runner that is started again has its experts
// known all the while. Cards of one that stays away vanish by themselves. Batches are not wanted any more: the next one may be of a
// release that does not take them.
func (a *Announcer) Leave(ctx context.Context) {
	a.batches = func(string) bool { return false }
	ctx, stop := context.WithTimeout(ctx, leaveBound)
	defer stop()
	if err := a.Announce(ctx); err != nil {
		a.log.Warn("cards not announced for the last time", "error", err)
	}
}
