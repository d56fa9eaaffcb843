package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// readers checks that the consumers have readers: one without pull requests has no service behind it, unless the service is busy
// and therefore asks for none.
func (d *diagnosis) readers(ctx context.Context, c *client.Client, cards []events.Card) error {
	q := c.Bus().Queues()
	intake, err := q.Info(ctx, c.Names().Intake, q.IntakeConsumer().Durable)
	if err == nil {
		err = d.reader("scheduler intake", intake, "start a scheduler", func() (bool, error) { return answers(ctx, c, release.Scheduler) })
	}
	if err != nil && !errors.Is(err, bus.ErrNotFound) { // Check has reported it.
		return err
	}
	pools, err := q.Pools(ctx)
	if errors.Is(err, bus.ErrNotFound) {
		return nil // Check has reported this too.
	}
	if err != nil {
		return err
	}
	if facts, there := pools[events.PlannerPool]; there {
		if err := d.reader("planner", facts, "start a planner", func() (bool, error) { return answers(ctx, c, release.Planner) }); err != nil {
			return err
		}
	}
	return d.pools(ctx, c, pools, cards)
}

// pools checks the readers of the pools of experts: the default one, those of announced experts, and those in which messages wait or are
// being handled.
func (d *diagnosis) pools(ctx context.Context, c *client.Client, pools map[string]bus.ConsumerFacts, cards []events.Card) error {
	announced, foreign := map[string]bool{}, map[string]bool{}
	for _, card := range cards {
		pool := cmp.Or(card.Pool, events.DefaultPool)
		announced[pool] = true
		foreign[pool] = foreign[pool] || card.Kind == "nats" || card.Runner == "" // Workers that are not runners cannot be asked.
	}
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		facts, name := pools[pool], "pool "+pool
		_, batches := batch.Of(pool)
		switch {
		case batches, pool == events.PlannerPool, pool == schedule.Pool, pool == bus.WebhookPool:
			continue
		case pool == events.DefaultPool:
			name = "expert-runner"
		case !announced[pool] && facts.Pending == 0 && facts.Unsettled == 0:
			continue // It is not used any more.
		}
		err := d.reader(name, facts, "start a runner that serves pool "+pool, func() (bool, error) {
			if foreign[pool] {
				return true, nil
			}
			return served(ctx, c, pool)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reader adds a consumer, and a fault if no reader waits for its messages. If some messages were taken and are not finished, its
// readers may be busy rather than gone: then there is called, which reports whether one of them answers.
func (d *diagnosis) reader(name string, facts bus.ConsumerFacts, hint string, there func() (bool, error)) error {
	d.Services = append(d.Services, serviceFacts{name, facts})
	if facts.Waiting > 0 {
		return nil
	}
	f := events.Fault{Code: events.CodeUnavailable, Field: name, Message: fmt.Sprintf("no reader; %d messages wait", facts.Pending), Hint: hint}
	if facts.Unsettled > 0 {
		busy, err := there()
		if busy || err != nil {
			return err
		}
		f.Message = fmt.Sprintf("no reader answers; %d messages wait, %d were taken and not finished", facts.Pending, facts.Unsettled)
		f.Hint += ": it takes over what was not finished"
	}
	d.Faults = append(d.Faults, f)
	return nil
}

// answers reports whether an instance of a service answers. For a client that may not ask, the answer is yes.
func answers(ctx context.Context, c *client.Client, s release.Service) (bool, error) {
	there := false
	err := c.Bus().Services().Peers(ctx, string(s), func(bus.Peer) { there = true })
	return assumed(there, err)
}

// served reports whether a runner that serves a pool answers.
func served(ctx context.Context, c *client.Client, pool string) (bool, error) {
	there := false
	runners, err := client.SupplyOf(c).Runners(ctx)
	for _, r := range runners {
		there = there || slices.Contains(r.Pools, pool)
	}
	return assumed(there, err)
}

// assumed returns the answer to use if asking failed: true if this client may not ask, and false if no reply came.
func assumed(there bool, err error) (bool, error) {
	switch {
	case errors.Is(err, bus.ErrNotPermitted):
		return true, nil
	case errors.Is(err, bus.ErrNobody), errors.Is(err, bus.ErrUnavailable):
		return false, nil
	}
	return there, err
}
