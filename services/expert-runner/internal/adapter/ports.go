package adapter

import (
	"context"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// States implements loop.States.
type States struct{ bus *bus.Bus }

// NewStates reads from the bucket of states.
func NewStates(b *bus.Bus) States { return States{b} }

// State implements loop.States.
func (s States) State(ctx context.Context, job string) ([]byte, error) {
	value, _, err := s.bus.State().GetLeader(ctx, job)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return value, err
}

// Reported implements loop.States.
func (s States) Reported(ctx context.Context, job, subjob string, run int) (bool, error) {
	names := s.bus.Names()
	_, err := s.bus.Streams().LastOn(ctx, names.Log, names.RunEvent(job, events.KindSubJobReported, subjob, run))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Knowledge implements loop.Knowledge.
type Knowledge struct{ documents bus.Documents }

// NewKnowledge reads the documents of sessions.
func NewKnowledge(b *bus.Bus) Knowledge { return Knowledge{b.Documents()} }

// Documents implements loop.Knowledge.
func (k Knowledge) Documents(ctx context.Context, session string) ([]events.Ref, error) {
	return k.documents.List(ctx, session)
}

// Document implements loop.Knowledge.
func (k Knowledge) Document(ctx context.Context, session, digest string) ([]byte, error) {
	return k.documents.Get(ctx, session, digest)
}
