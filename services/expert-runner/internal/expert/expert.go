package expert

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// Runner does the work of one kind of expert. It returns soon after ctx has ended, with nothing left running; the loop then
// decides what to report, and takes of the ending only a SUCCESS and what it has cost.
type Runner interface {
	Run(ctx context.Context, t *Task) task.Ending
}

// Expert is a card with what runs it.
type Expert struct {
	// Card is what planners and people see. Pure experts are neither claimed nor journaled.
	Card events.Card
	// Runner does the work; nil for an expert that foreign workers serve.
	Runner Runner
	// Intent is the one effect that running it is, announced with the claim; the zero value when it announces its own.
	Intent run.Effect
	// Reconciler finds out what became of its effects that are in doubt; nil leaves that to people.
	Reconciler Reconciler
	// Light experts cost nothing while they wait, so that many may be fetched ahead: Go functions are, processes are not.
	Light bool
	// Calls experts wait for the answers of others most of the time, so that many may be at work at once: models, services, people.
	Calls bool
	// Close lets go of what it holds, when it was replaced or withdrawn and its last run has ended; nil when it holds nothing.
	Close func()
}

// Reconciler finds out whether an effect with an unknown outcome took place. It never makes the effect, and returns soon after ctx
// has ended. What goes wrong is a finding of run.Unknown with the reason.
type Reconciler interface {
	Reconcile(ctx context.Context, q Inquiry) run.Resolution
}

// Inquiry is an effect in doubt.
type Inquiry struct {
	// Work is the run that is at it now; Intent what the journal has of the effect, with the run that began it.
	Work   *events.Work
	Intent events.JournalRecord
	// Log carries job, subjob, attempt and expert.
	Log *slog.Logger
}

// Task is one run in the hands of an expert.
type Task struct {
	// Work is the order, with every payload that is JSON brought inline.
	Work *events.Work
	// Owner is the runner.
	Owner string
	// Log carries job, subjob, attempt and expert.
	Log *slog.Logger
	// Hand is lent by the loop for the length of the run.
	Hand Hand
	// Payload writes a payload that is not JSON, or an attachment, of any size. After an error what was written is worth nothing.
	Payload func(ctx context.Context, ref events.Ref, w io.Writer) error
	// Keep stores a file of any size under its digest, once: the reference is for the report. An error is an *events.Fault about the
	// file, or the context's.
	Keep func(ctx context.Context, file io.ReadSeeker) (events.Ref, error)
	// Claim is that of the run; nil when nothing but ctx takes the run away.
	Claim Claim
	// Shelf has the documents of the run's session; nil is an empty one.
	Shelf tool.Documents
}

// ErrUnknown marks the error of a call that may have taken effect, although nothing came back. In the journal such a call
// stays open: the runner that continues the run finds it, and a person is asked unless it is safe.
var ErrUnknown = errors.New("it is unknown whether it took effect")

// ErrStopped is the cause of a context that has ended because the run is over for good: it was stopped, or took too long. What
// it has begun elsewhere has to end with it. With any other cause another runner may go on with the run.
var ErrStopped = errors.New("the run is over")

// Hand is what a run may do beside computing.
type Hand interface {
	// Do makes an effect once per run: its result is journaled, and answered from the journal after a crash. A failed
	// call is not journaled and may be tried again.
	Do(ctx context.Context, e Effect, call func(ctx context.Context) (json.RawMessage, error)) (json.RawMessage, error)
	// Progress states a milestone; it is never awaited.
	Progress(p events.SubJobProgressed)
	// Live passes bytes to watchers; nothing is stored.
	Live(body []byte)
}

// Effect is one call that changes the world, or costs money.
type Effect = run.Effect

// Limit is the moment at which the run must have ended, and the code of the fault if it has not; zero when there is none.
// The timeout counts from now.
func Limit(w *events.Work, card *events.Card, now time.Time) (at time.Time, code events.Code) {
	timeout := w.Spec.Timeout
	if timeout == nil {
		timeout = card.Timeout
	}
	if timeout != nil && timeout.Std() > 0 {
		at, code = now.Add(timeout.Std()), events.CodeTimeout
	}
	if !w.Deadline.IsZero() && (at.IsZero() || w.Deadline.Before(at)) {
		at, code = w.Deadline, events.CodeDeadline
	}
	return at, code
}
