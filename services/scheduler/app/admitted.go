package app

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// countingLog counts the jobs that this process admits.
type countingLog struct {
	*bus.Bus
	meter *meter
}

// Publish counts what was stored.
func (l countingLog) Publish(ctx context.Context, m events.Message, e bus.Expect) (uint64, error) {
	seq, err := l.Bus.Publish(ctx, m, e)
	if err == nil {
		l.meter.Admitted()
	}
	return seq, err
}
