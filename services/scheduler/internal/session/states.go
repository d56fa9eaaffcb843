package session

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// States are the loop's, with the sessions kept up to date: a session knows of a job at least what the saved state does.
type States struct {
	loop.States
	// Store is where sessions are kept.
	Store *Store
}

// Save notes what became of the job in its session, then saves its state.
func (s States) Save(ctx context.Context, job string, saved loop.Saved, fault *events.Fault) (uint64, error) {
	if saved.SessionRecord != nil {
		if err := s.Store.Note(ctx, saved.SessionRecord); err != nil {
			return 0, err
		}
	}
	return s.States.Save(ctx, job, saved, fault)
}
