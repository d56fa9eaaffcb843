package workspace

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// With does the work of a run in a fresh directory below parent and removes it. With keepFailed that of a run that was not
// ended from outside, and did not succeed, is left.
func With(ctx context.Context, t *expert.Task, parent string, keepFailed bool, work func(dir string) task.Ending) task.Ending {
	dir, err := Make(parent)
	if err != nil {
		return task.Failure(events.CodeExecution, "no workspace for the run", err.Error(), "check the runner's disk and its --work-dir")
	}
	ending := work(dir)
	if keepFailed && ctx.Err() == nil && ending.Report != nil && ending.Report.Outcome != events.Success {
		t.Log.Info("workspace kept", "dir", dir)
		return ending
	}
	if err := Discard(dir); err != nil {
		t.Log.Warn("workspace left behind", "dir", dir, "error", err)
	}
	return ending
}
