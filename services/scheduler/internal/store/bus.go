package store

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// OnBus returns the store of a bus.
func OnBus(b *bus.Bus) *Store { return New(b.State(), onBus{b}) }

// onBus implements Log with the log of a bus.
type onBus struct{ bus *bus.Bus }

// Identity is the time at which the stream was created.
func (l onBus) Identity(ctx context.Context) (string, error) {
	facts, err := l.bus.Streams().Info(ctx, l.bus.Names().Log)
	return facts.Created.UTC().Format(time.RFC3339Nano), err
}

// EventAt reads from the leader.
func (l onBus) EventAt(ctx context.Context, seq uint64) (events.Event, error) {
	return l.bus.Log().EventAt(ctx, seq)
}
