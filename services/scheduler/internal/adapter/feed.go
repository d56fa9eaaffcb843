package adapter

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// batchSize is the maximum number of deliveries in one step.
const batchSize = 512

// retryConsume is the wait before a lost consumer is opened again.
const retryConsume = time.Second

// Feed reads one partition's consumer.
type Feed struct {
	bus    *bus.Bus
	spec   bus.ConsumerSpec
	logger *slog.Logger
	fresh  atomic.Bool // Set by a reconnect, taken by the next batch.
}

// NewFeed makes the feed of a consumer.
func NewFeed(b *bus.Bus, spec bus.ConsumerSpec, logger *slog.Logger) *Feed {
	return &Feed{bus: b, spec: spec, logger: logger}
}

// Run passes batches to out until ctx ends, then closes out. A deleted consumer is created again.
func (f *Feed) Run(ctx context.Context, out chan<- loop.Batch) {
	defer close(out)
	defer f.bus.OnReconnect(func() { f.fresh.Store(true) })()
	for ctx.Err() == nil {
		f.fresh.Store(true)
		err := f.consume(ctx, out)
		if ctx.Err() != nil || errors.Is(err, bus.ErrClosed) {
			return
		}
		f.logger.Warn("partition interrupted", "consumer", f.spec.Durable, "error", err)
		_ = lease.Pause(ctx, retryConsume) // The next call checks whether the feed has ended.
		if err := f.bus.Queues().EnsureConsumer(ctx, f.spec); err != nil && ctx.Err() == nil {
			f.logger.Warn("cannot create consumer", "consumer", f.spec.Durable, "error", err)
		}
	}
}

func (f *Feed) consume(ctx context.Context, out chan<- loop.Batch) error {
	sub, err := f.bus.Queues().Consume(ctx, f.spec)
	if err != nil {
		return err
	}
	defer sub.Stop()
	for {
		list, err := sub.Next(ctx, batchSize)
		if err != nil {
			return err
		}
		select {
		case out <- f.batch(ctx, list):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *Feed) batch(ctx context.Context, list []bus.Delivery) loop.Batch {
	b := loop.Batch{Deliveries: make([]loop.Delivery, 0, len(list)), Fresh: f.fresh.Swap(false)}
	for i := range list {
		d := &list[i]
		e, ok := f.event(d)
		if ok && bus.Unsigned(&e) {
			if err := d.Withdraw(ctx, &e); err != nil {
				f.logger.Warn("cannot set an unsigned event aside; it will be redelivered", "job", e.Job, "seq", e.Seq, "error", err)
				continue
			}
			f.logger.Warn("an event without a signature that counts was set aside", "job", e.Job, "kind", string(e.Kind), "seq", e.Seq, "reason", e.Fault.Message)
			ok = e.Control
		}
		if !ok {
			e.Job, e.Seq = "", d.Seq()
		}
		b.Deliveries = append(b.Deliveries, loop.Delivery{
			Event: e, Subject: d.Message().Subject, ConsumerSeq: d.ConsumerSeq(), First: d.Delivered() == 1, Acker: d,
		})
	}
	return b
}

// advanced is the part of a subject that only job.advanced has: ids contain no dots, so looking for the text is safe.
const advanced = "." + string(events.KindJobAdvanced) + "."

// event decodes a delivery. Only the subject of job.advanced is read: the scheduler publishes it for others.
func (f *Feed) event(d *bus.Delivery) (events.Event, bool) {
	if subject := d.Message().Subject; strings.Contains(subject, advanced) {
		at, ok := f.bus.Names().Parse(subject)
		return events.Event{Kind: at.Kind, Job: at.Job, Key: at.ID, Seq: d.Seq(), Time: d.Time()}, ok
	}
	e, ok := d.Event()
	if ok && e.Kind == events.KindSubJobProgressed {
		f.milestone(d, &e)
	}
	return e, ok
}
