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
)

// CardTTL is how long a card stays in the catalogue after its runner last said it lives.
const CardTTL = 30 * time.Second

// withdrawBound is how long taking the cards back may take.
const withdrawBound = 2 * time.Second

// Announcer keeps the cards of one runner in the catalogue.
type Announcer struct {
	bus   *bus.Bus
	owner string
	cards []events.Card
	log   *slog.Logger
}

// NewAnnouncer is an announcer for the owner's cards.
func NewAnnouncer(b *bus.Bus, owner string, cards []events.Card, log *slog.Logger) *Announcer {
	return &Announcer{bus: b, owner: owner, cards: cards, log: log}
}

// Announce puts every card into the catalogue, once.
func (a *Announcer) Announce(ctx context.Context) error {
	for _, card := range a.cards {
		card.Runner, card.Seen = a.owner, time.Now().UTC()
		body, err := json.Marshal(card)
		if err != nil {
			return fmt.Errorf("announce %s: %w", card.ID, err)
		}
		if _, err := a.bus.Experts().Put(ctx, card.ID, body, CardTTL); err != nil {
			return fmt.Errorf("announce %s: %w", card.ID, err)
		}
	}
	return nil
}

// Run announces again and again until ctx ends, then withdraws the cards that nobody else has announced since.
func (a *Announcer) Run(ctx context.Context) {
	ticker := time.NewTicker(CardTTL / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if err := a.Announce(ctx); err != nil && ctx.Err() == nil {
				a.log.Warn("cards not announced", "error", err)
			}
		case <-ctx.Done():
			a.withdraw(context.WithoutCancel(ctx))
			return
		}
	}
}

func (a *Announcer) withdraw(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, withdrawBound)
	defer stop()
	for _, card := range a.cards {
		body, _, err := a.bus.Experts().GetLeader(ctx, card.ID)
		if errors.Is(err, bus.ErrNotFound) {
			continue
		}
		var found events.Card
		if err == nil && json.Unmarshal(body, &found) == nil && found.Runner != a.owner {
			continue // Another runner serves it.
		}
		if err == nil {
			err = a.bus.Experts().Delete(ctx, card.ID)
		}
		if err != nil {
			a.log.Warn("card not withdrawn", "expert", card.ID, "error", err)
			return
		}
	}
}
