package loop

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// History reads the earlier turns of a session.
type History interface {
	// Before returns the turns of a session before a job, oldest first; if they exceed most bytes, only the latest.
	Before(ctx context.Context, id, job string, most int) ([]planning.Turn, error)
}

// recollect reads the history of the session, for planning with a model. It becomes part of the start record, which is
// written before the first call, so that every later run sees the same history.
func (t *planningRun) recollect() error {
	s := &t.start
	given := len(s.Request.Plan) > 0 || s.Request.Expert != ""
	if t.loop.History == nil || s.Request.Session == "" || !s.Model || given || t.w.ResumeOf > 0 {
		return nil
	}
	turns, err := t.loop.History.Before(t.ctx, s.Request.Session, t.w.Job, s.Profile.Limits.HistoryBytes)
	if err != nil {
		return fmt.Errorf("read the session so far: %w", err)
	}
	s.History = turns
	return nil
}
