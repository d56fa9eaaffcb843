package wire

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/loop"
)

// Pool is the source of the work of one pool.
type Pool struct {
	bus  *bus.Bus
	pool string
	sub  *bus.Subscription
	acks *acks
	log  *slog.Logger
}

// OpenPool makes sure that the pool's consumer exists and begins to read it. Nothing is fetched ahead of those who can work.
func OpenPool(ctx context.Context, b *bus.Bus, pool string, log *slog.Logger) (*Pool, error) {
	p := &Pool{bus: b, pool: pool, acks: &acks{log: log}, log: log}
	return p, bus.Await(ctx, func() error {
		if err := b.Queues().EnsurePool(ctx, pool); err != nil {
			return err
		}
		return p.consume(ctx)
	})
}

func (p *Pool) consume(ctx context.Context) error {
	spec := p.bus.Queues().PoolConsumer(p.pool)
	spec.OnDemand = true
	sub, err := p.bus.Queues().Consume(ctx, spec)
	if err == nil {
		p.sub = sub
	}
	return err
}

// Next implements loop.Source.
func (p *Pool) Next(ctx context.Context, most int) ([]loop.Delivery, error) {
	list, err := p.next(ctx, most)
	if err != nil {
		return nil, err
	}
	return p.deliveries(list), nil
}

// next gives what the bus delivers. A consumer that was deleted is made again.
func (p *Pool) next(ctx context.Context, most int) ([]bus.Delivery, error) {
	for {
		list, err := p.sub.Next(ctx, most)
		if err == nil {
			return list, nil
		}
		if ctx.Err() != nil || !errors.Is(err, bus.ErrNotFound) {
			return nil, err
		}
		p.log.Warn("consumer of the pool is gone, making it again", "pool", p.pool, "error", err)
		if err := p.again(ctx); err != nil {
			return nil, err
		}
	}
}

func (p *Pool) again(ctx context.Context) error {
	p.sub.Stop()
	for {
		err := p.bus.Queues().EnsurePool(ctx, p.pool)
		if err == nil {
			err = p.consume(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		retry := time.NewTimer(retryConsume)
		select {
		case <-ctx.Done():
		case <-retry.C:
		}
		retry.Stop()
	}
}

// drainBound is how long giving back unread work may take.
const drainBound = 2 * time.Second

// Stop implements loop.Source: what is unread is given back, so that another runner gets it at once.
func (p *Pool) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), drainBound)
	defer cancel()
	defer p.sub.Stop()
	p.acks.stop()
	p.sub.Drain()
	for {
		list, err := p.sub.Next(ctx, 1)
		if err != nil {
			return
		}
		if err := list[0].Nak(0); err != nil {
			p.log.Debug("work not given back", "error", err)
		}
	}
}

func (p *Pool) deliveries(list []bus.Delivery) []loop.Delivery {
	out := make([]loop.Delivery, len(list))
	for i := range list {
		d := &list[i]
		m := d.Message()
		out[i] = loop.Delivery{
			Subject: m.Subject, Body: m.Body, Trace: m.Get(events.HeaderTrace), Count: d.Delivered(), Stored: d.Time(), Receipt: receipt{d, p.acks},
		}
	}
	return out
}
