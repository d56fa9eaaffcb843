package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Experts reads the cards of experts and registers those of third-party workers.
type Experts struct{ client *Client }

// Register adds the card of an expert of third-party workers and creates the consumer of its pool. With a ttl the card
// expires unless it is registered again in time, so it tells whether the workers live; without one it stays until Withdraw.
// Errors: events.Faults for an invalid card; a conflict if a runner announces a card with this id.
func (x Experts) Register(ctx context.Context, card events.Card, ttl time.Duration) error {
	if err := registrable(&card); err != nil {
		return err
	}
	if err := x.unclaimed(ctx, card.ID); err != nil && !errors.Is(err, bus.ErrNotFound) {
		return err
	}
	if err := x.client.bus.Queues().EnsureForeignPool(ctx, card.Pool); err != nil && !errors.Is(err, bus.ErrNotPermitted) {
		return fmt.Errorf("register %s: %w", card.ID, err)
	}
	card.Runner, card.Seen = "", time.Now().UTC()
	body, err := json.Marshal(card)
	if err == nil {
		_, err = x.client.bus.Experts().Put(ctx, card.ID, body, ttl)
	}
	if err != nil {
		return fmt.Errorf("register %s: %w", card.ID, err)
	}
	return nil
}

// registrable returns why a card cannot be registered, or nil.
func registrable(card *events.Card) error {
	var faults events.Faults
	if !events.ValidID(card.ID) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "id", Message: fmt.Sprintf("%.80q is no id", card.ID), Hint: "use 1 to 64 of A-Z a-z 0-9 _ -"})
	}
	if card.Kind != "nats" {
		faults = append(faults, events.Fault{
			Code: events.CodeInvalid, Field: "kind", Message: fmt.Sprintf("an expert of kind %.40q needs a runner that has its card", card.Kind),
			Hint: "put the file where a runner reads its experts: it is taken up while it runs",
		})
	}
	if card.Pool == events.DefaultPool || !events.ValidID(card.Pool) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "pool", Message: fmt.Sprintf("pool %.80q is not one of its own", card.Pool), Hint: "name a pool that only its workers read"})
	}
	return faults.OrNil()
}

// ExpiredCard is a card that its runner has not announced in time, for example because the runner has died.
type ExpiredCard struct {
	ID string    `json:"id"`
	At time.Time `json:"at"` // When it expired.
}

// Expired returns the cards that have expired within the last minute and were not announced since. Errors: those of the bus.
func (x Experts) Expired(ctx context.Context) ([]ExpiredCard, error) {
	entries, err := x.client.bus.Experts().Expired(ctx)
	list := make([]ExpiredCard, len(entries))
	for i, e := range entries {
		list[i] = ExpiredCard{e.Key, e.Time}
	}
	return list, err
}

// Withdraw removes a registered card. Work that waits for the expert stays in its pool. Errors: bus.ErrNotFound, and a
// conflict for a card that a runner announces, since it would be back at once.
func (x Experts) Withdraw(ctx context.Context, id string) error {
	if err := x.unclaimed(ctx, id); err != nil {
		return err
	}
	if err := x.client.bus.Experts().Delete(ctx, id); err != nil {
		return fmt.Errorf("withdraw %s: %w", id, err)
	}
	return nil
}

// unclaimed returns an error if there is no such card, or if a runner announces it.
func (x Experts) unclaimed(ctx context.Context, id string) error {
	body, _, err := x.client.bus.Experts().GetLeader(ctx, id)
	if err != nil {
		return err
	}
	var card events.Card
	if json.Unmarshal(body, &card) == nil && card.Runner != "" {
		return &events.Fault{
			Code: events.CodeConflict, Field: "id", Message: fmt.Sprintf("runner %s announces expert %s", card.Runner, id),
			Hint: "change the files of that runner: it follows them",
		}
	}
	return nil
}
