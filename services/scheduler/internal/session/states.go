package session

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// States wraps the loop's states and keeps the sessions up to date: a session knows at least as much of a job as the saved state.
type States struct {
	loop.States
	// Store holds the sessions, Recorder their conversations.
	Store    *Store
	Recorder *Recorder
}

// Save records the items of the job's conversation, updates its session, then saves its state.
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
