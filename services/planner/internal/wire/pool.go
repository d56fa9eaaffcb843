package wire

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
)

const (
	// fetched bounds what is read ahead of the loop: the rest can be had by other planners.
	fetched = 64
	// retryConsume is the wait before a consumer that was lost is asked for again.
	retryConsume = time.Second
	// drainBound is how long giving unread work back may take.
	drainBound = 2 * time.Second
)

// Pool is the source of planning work.
type Pool struct {
	bus *bus.Bus
	sub *bus.Subscription
	log *slog.Logger
}

// OpenPool begins to read the pool of planners, and makes its consumer where that is missing and allowed.
func OpenPool(ctx context.Context, b *bus.Bus, log *slog.Logger) (*Pool, error) {
	p := &Pool{bus: b, log: log}
	return p, bus.Await(ctx, func() error { return p.open(ctx) })
}

func (p *Pool) open(ctx context.Context) error {
	spec := p.bus.Queues().PoolConsumer(events.PlannerPool)
	spec.Buffer = fetched
	sub, err := p.bus.Queues().Consume(ctx, spec)
	if errors.Is(err, bus.ErrNotFound) {
		if err = p.bus.Queues().EnsurePool(ctx, events.PlannerPool); err == nil {
			sub, err = p.bus.Queues().Consume(ctx, spec)
		}
	}
	if err == nil {
		p.sub = sub
	}
	return err
}

// Next implements loop.Source. A consumer that was deleted is made again.
func (p *Pool) Next(ctx context.Context) (loop.Delivery, error) {
	for {
		list, err := p.sub.Next(ctx, 1)
		if err == nil {
			d := &list[0]
			return loop.Delivery{Message: d.Message(), Count: d.Delivered(), Receipt: d, Pulse: d}, nil
		}
		if ctx.Err() != nil || !errors.Is(err, bus.ErrNotFound) {
			return loop.Delivery{}, err
		}
		p.log.Warn("consumer of planning work is gone, making it again", "error", err)
		p.sub.Stop()
		for err := p.open(ctx); err != nil; err = p.open(ctx) {
			if !rest(ctx) {
				return loop.Delivery{}, err
			}
		}
	}
}

// rest waits a moment; false means that ctx has ended.
func rest(ctx context.Context) bool {
	timer := time.NewTimer(retryConsume)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Drain implements loop.Source: it stops reading and gives back what was not begun, so that another planner has it at
// once and not after the broker's wait.
func (p *Pool) Drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainBound)
	defer cancel()
	defer p.sub.Stop()
	p.sub.Drain()
	for {
		list, err := p.sub.Next(ctx, fetched)
		if err != nil {
			return
		}
		for i := range list {
			if err := list[i].Nak(0); err != nil {
				p.log.Debug("work not given back", "error", err)
			}
		}
	}
}

// Stop implements loop.Source: what is unread goes to another planner after the broker's wait.
func (p *Pool) Stop() { p.sub.Stop() }
