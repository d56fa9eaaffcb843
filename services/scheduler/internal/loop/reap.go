package loop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/graph"
)

// errNoEnd means that the log does not contain the end of the job that its state contains: that state came from a saved one, which is
// discarded.
var errNoEnd = errors.New("the log does not have the end that the saved state tells: nothing is deleted, and the job is folded from its log")

// reapSlack is the tolerated difference between the end of a job in its state and in the log before the log is folded to compare
// them.
const reapSlack = time.Minute

// reaping deletes a job whose retention has passed, outside the loop. For the end of the job it relies only on the log, never on a
// saved state. A job that is too young is not deleted: its timer is armed for the right time.
type reaping struct {
	folder *folder
	job    string
	state  *graph.Job // Nothing is applied to it during the deletion.
	whole  bool       // The state is the fold of the whole log.

	deleted bool
}

// deleted reports whether the command has deleted its job.
func (s *pendingAck) deleted() bool {
	r, ok := s.ack.(*reaping)
	return ok && r.deleted
}

// Wait deletes the job, or returns errNoEnd.
func (r *reaping) Wait(ctx context.Context) (uint64, error) {
	f := r.folder
	ended, err := r.end(ctx)
	if err != nil {
		return 0, err
	}
	last, err := f.Log.EventAt(ctx, r.state.Seq) // The log's clock decides, not ours.
	if err != nil {
		return 0, fmt.Errorf("read last event of job: %w", err)
	}
	due := ended.Add(r.state.Rules.Retention.Std())
	if last.Time.Add(reapSlack).Before(due) {
		if !r.whole {
			return 0, errNoEnd
		}
		f.Logger.Warn("a job is not due for deletion yet", "job", r.job, "ended", ended, "due", due)
		return f.Alarms.Arm(ctx, r.job, graph.ReapTimer(r.state.Turn), due).Wait(ctx)
	}
	if err := f.Sweeper.ReapJob(ctx, r.job, r.state.Seq); err != nil {
		return 0, fmt.Errorf("delete job: %w", err)
	}
	r.deleted = true
	return 0, nil
}

// end returns the time of the job's end from the log, or errNoEnd.
func (r *reaping) end(ctx context.Context) (time.Time, error) {
	if r.whole {
		return r.state.Ended, nil
	}
	e, err := r.folder.confirm(ctx, r.job, r.state)
	if err == nil && e.Seq == 0 {
		err = errNoEnd
	}
	return e.Time, err
}
