package adapter

import (
	"context"
	"log/slog"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/service"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
)

// Pool is the source of the work of one pool.
type Pool struct {
	queue *service.Queue
	acks  *acks
}

// OpenPool creates the pool's consumer if necessary and begins to read it. It fetches only as much as the workers can execute.
func OpenPool(ctx context.Context, b *bus.Bus, pool string, log *slog.Logger) (*Pool, error) {
	spec := b.Queues().PoolConsumer(pool)
	spec.OnDemand = true
	q, err := service.OpenQueue(ctx, pool, log, func(ctx context.Context) (*bus.Subscription, error) {
		if err := b.Queues().EnsurePool(ctx, pool); err != nil {
			return nil, err
		}
		return b.Queues().Consume(ctx, spec)
	})
	return &Pool{queue: q, acks: &acks{log: log}}, err
}

// Next implements loop.Source.
func (p *Pool) Next(ctx context.Context, most int) ([]queue.Delivery, error) {
	list, err := p.queue.Next(ctx, most)
	if err != nil {
		return nil, err
	}
	out := make([]queue.Delivery, len(list))
	for i := range list {
		out[i] = service.Delivery(&list[i], receipt{&list[i], p.acks})
	}
	return out, nil
}

// Stop implements loop.Source: unread work returns to the queue, so that another runner gets it at once.
func (p *Pool) Stop() {
	p.acks.stop()
	p.queue.Drain(context.Background())
}

// receipt settles one delivery, with a delayed acknowledgement.
type receipt struct {
	*bus.Delivery
	acks *acks
}

// Ack implements queue.Receipt.
func (r receipt) Ack() error { return r.acks.add(r.Delivery) }
