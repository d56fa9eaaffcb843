package session

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// States are the loop's, with the sessions kept up to date: a session knows of a job at least what the saved state does.
type States struct {
	loop.States
	// Store is where sessions are kept, Recorder keeps their conversations.
	Store    *Store
	Recorder *Recorder
}

// Save records what was said in the job, notes what became of it in its session, then saves its state.
func (s States) Save(ctx context.Context, job string, saved loop.Saved, fault *events.Fault) (uint64, error) {
	if err := s.Recorder.Record(ctx, saved.Said); err != nil {
		return 0, err
	}
	if saved.SessionRecord != nil {
		if err := s.Store.Note(ctx, saved.SessionRecord); err != nil {
			return 0, err
		}
	}
	return s.States.Save(ctx, job, saved, fault)
}
