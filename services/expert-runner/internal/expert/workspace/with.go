package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// Settings configures a workspace.
type Settings struct {
	// Parent is the folder for it; the system's temporary folder if empty.
	Parent string
	// KeepFailed keeps the workspace of a run that was not successful, unless it was ended from outside.
	KeepFailed bool
	// Artifacts are the patterns of the files to store after a successful run; none if empty.
	Artifacts []string
}

// With does the work of a run in a fresh directory, stores its artifacts, and removes it. Artifacts are stored before the
// ending refers to them; if that fails, the run has failed.
func With(ctx context.Context, t *expert.Task, s Settings, work func(dir string) task.Ending) task.Ending {
	dir, err := Make(s.Parent)
	if err == nil && slices.ContainsFunc(s.Artifacts, func(p string) bool { return strings.HasPrefix(p, OutDir+"/") }) {
		err = os.Mkdir(filepath.Join(dir, OutDir), 0o700)
	}
	if err != nil {
		return task.Failure(events.CodeExecution, "no workspace for the run", err.Error(), "check the runner's disk and its --work-dir")
	}
	ending := work(dir)
	if r := ending.Report; r != nil && r.Outcome == events.Success && len(s.Artifacts) > 0 {
		ending = handOn(ctx, t, ending, dir, s.Artifacts)
	}
	if s.KeepFailed && ctx.Err() == nil && ending.Report != nil && ending.Report.Outcome != events.Success {
		t.Log.Info("workspace kept", "dir", dir)
		return ending
	}
	if err := Discard(dir); err != nil {
		t.Log.Warn("cannot remove workspace", "dir", dir, "error", err)
	}
	return ending
}

// handOn adds the artifacts to the report. If they cannot be stored, the failure still reports the cost of the run.
func handOn(ctx context.Context, t *expert.Task, e task.Ending, dir string, patterns []string) task.Ending {
	refs, err := keep(ctx, t, dir, patterns)
	if err == nil {
		e.Report.Artifacts = refs
		return e
	}
	failure := task.Failure(events.CodeExecution, "the artifacts could not be kept", err.Error(), "")
	var fault *events.Fault
	if errors.As(err, &fault) {
		failure.Report.Error, failure.Report.Lesson = fault, fault.Error()
	}
	failure.Report.Spent = e.Report.Spent
	return failure
}
