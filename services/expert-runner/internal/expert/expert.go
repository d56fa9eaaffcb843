package expert

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// Runner executes one kind of expert. It returns soon after ctx has ended, with nothing left running. The loop then decides
// what to report and uses the ending only if it is a SUCCESS, and for its cost.
type Runner interface {
	Run(ctx context.Context, t *Task) task.Ending
}

// Expert is a card with its implementation.
type Expert struct {
	// Card is the card for planners and people. Runs of pure experts are neither claimed nor journaled.
	Card events.Card
	// Runner executes its runs; nil for an expert of third-party workers.
	Runner Runner
	// Intent is the single effect of running it, announced with the claim; the zero value if it announces its effects
	// itself.
	Intent run.Effect
	// Reconciler finds out the unknown outcomes of its effects; nil leaves that to people.
	Reconciler Reconciler
	// History is how much of the session's history its runs get, in bytes of text; 0 for nothing. nil means item.DefaultHistory.
	History *int
	// Tools are the names of the tools that an agent has here, or patterns of names; Lacks are tools of its card that are not offered.
	Tools []string
	Lacks []Lack
	// Light experts use few resources while they wait, so that many may be fetched ahead: Go functions do, processes do
	// not.
	Light bool
	// Calls experts mostly wait for the answers of others, so that many may run at once: models, services, people.
	Calls bool
	// Close releases its resources, after it was replaced or withdrawn and its last run has ended; may be nil.
	Close func()
}

// Lack is a tool that is not offered, with the reason.
type Lack struct{ Tool, Reason string }

// Reconciler finds out whether an effect with an unknown outcome took place. It never makes the effect, and returns soon
// after ctx has ended. An error becomes the outcome run.Unknown with the reason.
type Reconciler interface {
	Reconcile(ctx context.Context, q Inquiry) run.Resolution
}

// Inquiry is an effect with an unknown outcome.
type Inquiry struct {
	// Work is the work of the present run; Intent is the journal's record of the effect, with the run that began it.
	Work   *events.Work
	Intent events.JournalRecord
	// Log has the attributes job, subjob, attempt and expert.
	Log *slog.Logger
}

// Task is one run in the form for experts.
type Task struct {
	// Work is the work message, with all JSON payloads inline. Rest is what its brief leaves out; Brief reads both.
	Work *events.Work
	Rest *brief.Rest
	// Owner is the name of the runner in claims.
	Owner string
	// Trace is the traceparent of the run, for calls to other services; empty if its job belongs to no trace.
	Trace string
	// Log has the attributes job, subjob, attempt and expert.
	Log *slog.Logger
	// Hand makes the effects of the run; it is valid during the run.
	Hand Hand
	// Payload writes a payload that is not JSON, or an attachment, of any size. After an error, discard what was written.
	Payload func(ctx context.Context, ref events.Ref, w io.Writer) error
	// Keep stores a file of any size under its digest, once, and returns its reference for the report. An error is an
	// *events.Fault about the file, or the context's.
	Keep func(ctx context.Context, file io.ReadSeeker) (events.Ref, error)
	// Claim is the claim of the run; nil if only ctx can end the run.
	Claim Claim
	// Contexts stores the id by which a remote agent knows the run's session; nil without a session.
	Contexts Contexts
	// Shelf returns the documents of the bases of knowledge that a card names, as far as the run may read them, and of those that
	// the request names; nil if there are none. Nil names are the default ones. The function may be nil.
	Shelf func(names []string) tool.Shelf
	// Memory is what the expert remembers of the job's user; nil for an anonymous job.
	Memory tool.Memory
	// Items takes live items without waiting, see Show; nil means that the run has no watchers.
	Items func(i item.Item)
	// Logged stores the end of the run's log with its report; nil means that it is not stored.
	Logged func(text string)
}

// Show shows an item to watchers. Its text continues the text of the item with the same ID; an Offset of 0 begins it again.
func (t *Task) Show(i item.Item) {
	if t.Items != nil {
		t.Items(i)
	}
}

// MaxPlanSteps is how many steps of a plan a brief lists; of a longer plan, those around the step of the run.
const MaxPlanSteps = 200

// Brief returns what the run knows about its job; nil if the work has no brief, as in an earlier release, or an unreadable one.
func (t *Task) Brief() *brief.Brief {
	b, err := brief.Read(t.Work.Brief, nil)
	if err != nil {
		t.Log.Warn("working without a brief", "error", err)
		return nil
	}
	if b == nil {
		return nil
	}
	b.Complete(t.Rest, MaxPlanSteps)
	if len(b.Request.Inputs) == 0 {
		b.Request.Inputs = slices.Sorted(maps.Keys(t.Work.Inputs)) // A brief does not list inputs that came by reference.
	}
	return b
}

// ErrUnknown marks the error of a call that may have taken place although no answer came. Such a call stays open in the
// journal: the runner that continues the run finds it, and a person is asked unless the call is safe.
var ErrUnknown = errors.New("it is unknown whether it took effect")

// ErrStopped is the cause of a context that ended because the run is over for good: it was stopped, or took too long. Everything
// that it started elsewhere has to end as well. With any other cause another runner may continue the run.
var ErrStopped = errors.New("the run is over")

// Hand is how a run makes effects.
type Hand interface {
	// Do makes an effect once per run: its result is journaled, and read from the journal after a crash. A failed call is
	// not journaled and may be tried again.
	Do(ctx context.Context, e Effect, call func(ctx context.Context) (json.RawMessage, error)) (json.RawMessage, error)
	// Progress publishes a milestone without waiting.
	Progress(p events.SubJobProgressed)
	// Live sends bytes to watchers; nothing is stored.
	Live(body []byte)
}

// Effect is a call that changes the world or costs money.
type Effect = run.Effect

// Limit returns when the run must have ended, and the code of the fault if it has not; zero if there is no limit. The timeout
// counts from now.
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

// Contexts stores the id by which the expert's remote agent knows the session of a run, across jobs and restarts.
type Contexts interface {
	// Context returns the id, or "" if the agent has given none.
	Context(ctx context.Context) (string, error)
	// SetContext stores the id; "" forgets it.
	SetContext(ctx context.Context, id string) error
}
