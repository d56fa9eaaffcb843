package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
)

const (
	// retryOpen is the wait before a consumer that was lost is asked for again.
	retryOpen = time.Second
	// drainBound is how long giving unread work back may take.
	drainBound = 2 * time.Second
)

// Queue reads one queue of work. A consumer that was deleted is made again. It belongs to one goroutine.
type Queue struct {
	name string
	open func(ctx context.Context) (*bus.Subscription, error)
	sub  *bus.Subscription
	log  *slog.Logger
}

// OpenQueue begins to read a queue by a subscription that open makes, together with its consumer where that is missing. While the bus
// is away it waits. name is what logs call it. Errors: those of open, and ctx's.
func OpenQueue(ctx context.Context, name string, log *slog.Logger, open func(ctx context.Context) (*bus.Subscription, error)) (*Queue, error) {
	q := &Queue{name: name, open: open, log: log}
	return q, bus.Await(ctx, func() error { return q.reopen(ctx) })
}

func (q *Queue) reopen(ctx context.Context) error {
	sub, err := q.open(ctx)
	if err == nil {
		q.sub = sub
	}
	return err
}

// Next blocks for the first message and gives at most so many. Errors: those of the subscription, and ctx's.
func (q *Queue) Next(ctx context.Context, most int) ([]bus.Delivery, error) {
	for {
		list, err := q.sub.Next(ctx, most)
		if err == nil {
			return list, nil
		}
		if ctx.Err() != nil || !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		q.log.Warn("consumer of work was deleted; recreating it", "queue", q.name, "error", err)
		q.sub.Stop()
		for err := q.reopen(ctx); err != nil; err = q.reopen(ctx) {
			if lease.Pause(ctx, retryOpen) != nil {
				return nil, err
			}
		}
	}
}

// Drain ends the reading and gives back what was not begun, so that another process has it at once and not after the broker's wait.
func (q *Queue) Drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, drainBound)
	defer cancel()
	defer q.sub.Stop()
	q.sub.Drain()
	for {
		list, err := q.sub.Next(ctx, 1)
		if err != nil {
			return
		}
		if err := list[0].Nak(0); err != nil {
			q.log.Debug("cannot return work", "queue", q.name, "error", err)
		}
	}
}

// Stop ends the reading: what is unread goes to another process after the broker's wait.
func (q *Queue) Stop() { q.sub.Stop() }

// Delivery is a delivery of the bus as loops see it, settled by a receipt.
func Delivery(d *bus.Delivery, by queue.Receipt) queue.Delivery {
	m := d.Message()
	return queue.Delivery{
		Subject: m.Subject, Body: m.Body, Trace: m.Get(events.HeaderTrace), Count: d.Delivered(), Stored: d.Time(), Receipt: by,
	}
}
