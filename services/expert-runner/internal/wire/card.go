package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// CardTTL is how long a card stays in the catalogue after its runner last said it lives.
const CardTTL = 30 * time.Second

// leaveBound is how long announcing the cards for the last time may take.
const leaveBound = 2 * time.Second

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

// Run announces again and again until ctx ends, and then once more: the cards stay for CardTTL, so that a runner that is
// started again has its experts known all the while. Cards of one that stays away vanish by themselves.
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
			a.leave(context.WithoutCancel(ctx))
			return
		}
	}
}

func (a *Announcer) leave(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, leaveBound)
	defer stop()
	if err := a.Announce(ctx); err != nil {
		a.log.Warn("cards not announced for the last time", "error", err)
	}
}
