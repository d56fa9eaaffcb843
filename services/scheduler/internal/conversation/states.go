package conversation

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// States are the loop's, with the sessions kept up to date: a session knows of a job at least what the saved state does.
type States struct {
	loop.States
	// Book is where sessions are kept.
	Book *Book
}

// Save notes what became of the job in its session, then saves its state.
func (s States) Save(ctx context.Context, job string, saved loop.Saved, fault *events.Fault) (uint64, error) {
	if saved.Talk != nil {
		if err := s.Book.Note(ctx, saved.Talk); err != nil {
			return 0, err
		}
	}
	return s.States.Save(ctx, job, saved, fault)
}
