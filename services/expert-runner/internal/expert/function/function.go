package function

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// Func executes a run. A report without an outcome is a SUCCESS. An error is an EXECUTION_ERROR, except *Park, and
// expert.ErrUnknown of an effect, about which a person is asked; an *events.Fault keeps its code. Func must return soon after ctx has
// ended.
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
	mine, hand := *t, &witness{Hand: t.Hand}
	mine.Hand = hand
	report, err := f(ctx, &mine)
	open := hand.doubts()
	var park *Park
	var fault *events.Fault
	switch {
	case errors.Is(err, expert.ErrUnknown) && len(open) > 0 && !t.Work.Spec.Pure:
		return task.Doubt(t.Work, "A call broke off: "+err.Error()+".", open...)
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

// witness notes the effects of a function whose outcome is unknown.
type witness struct {
	expert.Hand

	mu   sync.Mutex // A function may make effects from several goroutines.
	open []expert.Effect
}

// Do implements expert.Hand.
func (w *witness) Do(ctx context.Context, e expert.Effect, call func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	raw, err := w.Hand.Do(ctx, e, call)
	if !e.Safe && errors.Is(err, expert.ErrUnknown) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open = append(w.open, e)
	}
	return raw, err
}

func (w *witness) doubts() []expert.Effect {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.open)
}
