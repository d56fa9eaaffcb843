package adapter

import (
	"context"
	"errors"
	"log/slog"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/service"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
)

// fetched limits how many messages are read ahead of the loop, so that other planners get the rest.
const fetched = 64

// Pool is the source of planning work.
type Pool struct{ *service.Queue }

// OpenPool subscribes to the work of planners. It creates the consumer if that is missing and allowed.
func OpenPool(ctx context.Context, b *bus.Bus, log *slog.Logger) (Pool, error) {
	spec := b.Queues().PoolConsumer(events.PlannerPool)
	spec.Buffer = fetched
	q, err := service.OpenQueue(ctx, events.PlannerPool, log, func(ctx context.Context) (*bus.Subscription, error) {
		sub, err := b.Queues().Consume(ctx, spec)
		if !errors.Is(err, store.ErrNotFound) {
			return sub, err
		}
		if err := b.Queues().EnsurePool(ctx, events.PlannerPool); err != nil {
			return nil, err
		}
		return b.Queues().Consume(ctx, spec)
	})
	return Pool{q}, err
}

// Next implements loop.Source.
func (p Pool) Next(ctx context.Context) (queue.Delivery, error) {
	list, err := p.Queue.Next(ctx, 1)
	if err != nil {
		return queue.Delivery{}, err
	}
	return service.Delivery(&list[0], &list[0]), nil
}
