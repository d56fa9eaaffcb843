package loop

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// History tells what was said in a session.
type History interface {
	// Before gives the turns of a session, by its id, before a job, oldest first: the latest ones, at most so many bytes.
	Before(ctx context.Context, id, job string, most int) ([]planning.Turn, error)
}

// recollect reads the session so far, for planning with a model. What was read becomes part of the beginning, which is
// recorded before anybody is asked: every later run of this planning sees the same, whatever has been said since.
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
