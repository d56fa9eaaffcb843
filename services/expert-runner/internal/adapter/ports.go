package adapter

import (
	"context"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/knowledge"
	"github.com/jobgraph/jobgraph/pkg/service"
)

// States implements loop.States.
type States struct{ bus *bus.Bus }

// NewStates returns the States of a bus.
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
func (s States) Reported(ctx context.Context, of events.Address, born uint64) (bool, error) {
	names := s.bus.Names()
	there, err := s.bus.Streams().LastOn(ctx, names.Log, names.RunEventOf(of.Job, events.KindSubJobReported, of.SubJob, of.Run, of.Pool))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && !service.Stray(names, there.Message, born), err
}

// Knowledge implements loop.Knowledge: the documents of bases, and their indexes.
type Knowledge struct {
	bus.Documents
	*knowledge.Library
}

// NewKnowledge returns the Knowledge of a bus.
func NewKnowledge(b *bus.Bus) Knowledge {
	return Knowledge{b.Documents(), knowledge.NewLibrary(b.Documents())}
}
