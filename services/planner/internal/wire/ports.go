package wire

import (
	"context"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
)

// Log states facts on the bus.
type Log struct{ Bus *bus.Bus }

// State implements loop.Log.
func (l Log) State(ctx context.Context, e events.Event) error {
	m, err := events.Encode(l.Bus.Names(), e)
	if err != nil {
		return err
	}
	_, err = l.Bus.Publish(ctx, m, bus.ExpectNone())
	return classed(err)
}

// Tell implements loop.Log.
func (l Log) Tell(e events.Event) {
	if m, err := events.Encode(l.Bus.Names(), e); err == nil {
		l.Bus.PublishAsync(m, bus.Expect{})
	}
}

// Live implements loop.Log.
func (l Log) Live(job, subjob string, body []byte) {
	_ = l.Bus.PublishCore(l.Bus.Names().Live(job, subjob), nil, body) // Best effort.
}

// Blobs keeps payloads in the object store.
type Blobs struct{ Bus *bus.Bus }

// Put implements loop.Blobs.
func (b Blobs) Put(ctx context.Context, job string, data []byte) (events.Ref, error) {
	ref, err := b.Bus.Blobs().Put(ctx, job, data)
	return ref, classed(err)
}

// Get implements loop.Blobs.
func (b Blobs) Get(ctx context.Context, job, digest string) ([]byte, error) {
	data, err := b.Bus.Blobs().Get(ctx, job, digest)
	return data, classed(err)
}

// classed gives an error of the bus in the loop's words.
func classed(err error) error {
	switch {
	case errors.Is(err, bus.ErrConflict):
		return fmt.Errorf("%w: %w", loop.ErrConflict, err)
	case errors.Is(err, bus.ErrTooLarge):
		return fmt.Errorf("%w: %w", loop.ErrTooLarge, err)
	case errors.Is(err, bus.ErrNotFound):
		return fmt.Errorf("%w: %w", loop.ErrNotFound, err)
	}
	return err
}
