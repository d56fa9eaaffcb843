package budget

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// States wraps the loop's states and updates the accounts before each save, so that they are never behind a saved state.
type States struct {
	loop.States
	// Ledger has the accounts.
	Ledger *Ledger
}

// Save enters what the job has spent, then saves its state.
func (s States) Save(ctx context.Context, job string, saved loop.Saved, fault *events.Fault) (uint64, error) {
	if saved.State != nil {
		if err := s.Ledger.Note(ctx, job, saved.Session, saved.Before, saved.Spent); err != nil {
			return 0, err
		}
	}
	return s.States.Save(ctx, job, saved, fault)
}
