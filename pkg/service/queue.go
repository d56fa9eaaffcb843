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
	// retryOpen is the wait before a lost consumer is opened again.
	retryOpen = time.Second
	// drainBound limits how long returning unread work may take.
	drainBound = 2 * time.Second
)

// Queue reads one queue of work. If its consumer is deleted, it is created again. A Queue belongs to one goroutine.
type Queue struct {
	name string
	open func(ctx context.Context) (*bus.Subscription, error)
	sub  *bus.Subscription
	log  *slog.Logger
}

// OpenQueue begins to read a queue through the subscription that open returns, which creates the consumer if necessary. While the
// bus is away it waits. name is for logs. Errors: those of open, and ctx's.
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

// Next blocks for the first message and returns up to most messages. Errors: those of the subscription, and ctx's.
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

// Drain ends the reading and returns unread work to the queue, so that another process gets it at once instead of after the
// broker's timeout.
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

// Stop ends the reading; unread work goes to another process after the broker's timeout.
func (q *Queue) Stop() { q.sub.Stop() }

// Delivery returns a delivery of the bus in the form of the loops, settled by a receipt.
func Delivery(d *bus.Delivery, by queue.Receipt) queue.Delivery {
	m := d.Message()
	return queue.Delivery{
		Subject: m.Subject, Body: m.Body, Trace: m.Get(events.HeaderTrace), Count: d.Delivered(), Stored: d.Time(), Receipt: by,
	}
}
