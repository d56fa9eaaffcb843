package loop

import (
	"context"
	"errors"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// Causes with which a run's context ends, in addition to errCrash.
type (
	// cancelled: the run was stopped. The report is published, so that the job need not wait for the lease to end, but never
	// journaled.
	cancelled struct{ reason string }
	// overdue: the run exceeded its time limit.
	overdue struct{ code events.Code }
)

func (c *cancelled) Error() string { return "cancelled: " + c.reason }
func (o *overdue) Error() string   { return string(o.code) }

// Is makes errors.Is(err, expert.ErrStopped) true.
func (c *cancelled) Is(target error) bool { return target == expert.ErrStopped }

// Is makes errors.Is(err, expert.ErrStopped) true.
func (o *overdue) Is(target error) bool { return target == expert.ErrStopped }

// errFenced means that another runner has taken the run over and reports in its place.
var errFenced = errors.New("the run was taken over")

// judge decides how a run ends after its expert has returned. abandoned means: report nothing, another delivery continues.
func judge(ctx context.Context, e task.Ending) (ending task.Ending, abandoned error) {
	cause := context.Cause(ctx)
	var stop *cancelled
	var late *overdue
	switch {
	case cause == nil && e.Cut != "":
		return e, errors.New(e.Cut)
	case cause == nil:
		return e, nil
	case errors.As(cause, &stop) && e.Report != nil && e.Report.Outcome == events.Success:
		e.Unsafe = true // The expert finished before it was stopped; the scheduler records the result as late.
		return e, nil
	case errors.As(cause, &stop):
		return task.Cancelled(stop.reason).Charged(e), nil
	case errors.Is(cause, errFenced), errors.Is(cause, errCrash):
		return e, cause
	case e.Report != nil && e.Report.Outcome == events.Success:
		return e, nil
	case errors.As(cause, &late) && late.code == events.CodeDeadline:
		return task.Failure(late.code, "the job's deadline passed", "", "").Charged(e), nil
	case errors.As(cause, &late):
		return task.Failure(late.code, "the run took longer than its timeout", "", "raise timeout on the SubJob or on the expert's card").Charged(e), nil
	}
	return e, cause
}

func isCrash(err error) bool  { return errors.Is(err, errCrash) }
func isFenced(err error) bool { return errors.Is(err, errFenced) }
