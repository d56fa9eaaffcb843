package app

import (
	"context"
	"iter"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// countingLog is the log for admission: it counts the jobs that this process admits.
type countingLog struct {
	bus   *bus.Bus
	meter *meter
}

// EventsOf yields the events of a job in order.
func (l countingLog) EventsOf(ctx context.Context, job string, after uint64) iter.Seq2[events.Event, error] {
	return l.bus.Log().EventsOf(ctx, job, after)
}

// Publish counts what was stored.
func (l countingLog) Publish(ctx context.Context, m events.Message, e bus.Expect) (uint64, error) {
	seq, err := l.bus.Publish(ctx, m, e)
	if err == nil {
		l.meter.Admitted()
	}
	return seq, err
}
