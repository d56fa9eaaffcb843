package app

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host/trace"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
)

// tracer tells planning as spans, each from the delivery of work until it is settled, or lost to another planner. The loop does not know of it.
type tracer struct {
	start trace.Start
	names events.Names

	mu   sync.Mutex // Guards open and what is told of each.
	open map[string]*told
}

// told is what the spans of open deliveries will say, by their traceparents.
type told struct {
	end     func(failure string, attributes ...string)
	outcome events.Kind
}

// tracedSource begins a span with each delivery, and puts its traceparent in the place of the one that came.
type tracedSource struct {
	loop.Source
	*tracer
}

// Next implements loop.Source.
func (s tracedSource) Next(ctx context.Context) (loop.Delivery, error) {
	d, err := s.Source.Next(ctx)
	if err == nil {
		s.begin(&d)
	}
	return d, err
}

func (t *tracer) begin(d *loop.Delivery) {
	attributes := []string{"expert", events.PlannerPool}
	if at, err := run.ReadAddress(t.names, d.Subject); err == nil {
		attributes = append(attributes, "job", at.Job, "subjob", at.SubJob, "run", strconv.Itoa(at.Run))
	}
	id, end := t.start(d.Get(events.HeaderTrace), "plan", attributes...)
	header := maps.Clone(d.Header)
	if header == nil {
		header = map[string][]string{}
	}
	header[events.HeaderTrace] = []string{id}
	d.Header = header
	t.mu.Lock()
	t.open[id] = &told{end: end}
	t.mu.Unlock()
	d.Receipt, d.Lost = tracedReceipt{d.Receipt, t, id}, func(reason string) { t.settled(id, reason) }
}

func (t *tracer) settled(id, failure string) {
	t.mu.Lock()
	span := t.open[id]
	delete(t.open, id)
	t.mu.Unlock()
	if span != nil {
		span.end(failure, "outcome", string(span.outcome))
	}
}

// tracedLog hears what came of planning.
type tracedLog struct {
	loop.Log
	*tracer
}

// State implements loop.Log.
func (l tracedLog) State(ctx context.Context, e events.Event) error {
	err := l.Log.State(ctx, e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if span := l.open[e.Trace]; span != nil && err == nil {
		span.outcome = e.Kind
	}
	return err
}

// tracedReceipt ends the span with the delivery.
type tracedReceipt struct {
	loop.Receipt
	tracer *tracer
	id     string
}

// Ack implements loop.Receipt.
func (r tracedReceipt) Ack() error {
	r.tracer.settled(r.id, "")
	return r.Receipt.Ack()
}

// Nak implements loop.Receipt.
func (r tracedReceipt) Nak(delay time.Duration) error {
	r.tracer.settled(r.id, "given back")
	return r.Receipt.Nak(delay)
}

// Term implements loop.Receipt.
func (r tracedReceipt) Term(reason string) error {
	r.tracer.settled(r.id, reason)
	return r.Receipt.Term(reason)
}
