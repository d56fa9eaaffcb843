package function

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// Func executes a run. A report without an outcome is a SUCCESS. An error is an EXECUTION_ERROR, except *Park; an
// *events.Fault keeps its code. Func must return soon after ctx has ended.
type Func func(ctx context.Context, t *expert.Task) (events.SubJobReported, error)

// Park is returned by a function that waits for a person or a point in time: the run ends. The answer starts the next run,
// which finds the finished effects in the journal and the answer in its work.
type Park struct {
	// Input is the question, or the time until which the run waits.
	Input events.InputRequested
}

// Error says what the run waits for.
func (p *Park) Error() string { return "waits for " + string(p.Input.Kind) + " " + p.Input.Request }

// Run implements expert.Runner.
func (f Func) Run(ctx context.Context, t *expert.Task) (ending task.Ending) {
	defer func() {
		if value := recover(); value != nil {
			t.Log.Error("expert panicked", "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
			ending = task.Failure(events.CodeInternal, "the expert panicked", fmt.Sprint(value), "see the runner's log")
		}
	}()
	report, err := f(ctx, t)
	var park *Park
	var fault *events.Fault
	switch {
	case errors.As(err, &park):
		input := park.Input
		return task.Ending{Park: &input}
	case errors.As(err, &fault):
		return task.Ending{Report: &events.SubJobReported{Outcome: events.ExecutionError, Error: fault, Lesson: fault.Error()}}
	case err != nil:
		return task.Failure(events.CodeExecution, "the expert could not do its work", err.Error(), "")
	}
	if report.Outcome == "" {
		report.Outcome = events.Success
	}
	return task.Ending{Report: &report}
}
