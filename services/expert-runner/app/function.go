package app

import (
	"context"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/service"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/function"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/loop"
)

// Task is one run as a function receives it. What most functions need of it:
//
//   - Work is the work, an events.Work: Goal, Inputs, Results of the predecessors, Attachments, Lessons, Answers of people,
//     IdempotencyKey. Brief() says what the job is about.
//   - Hand.Do(ctx, Effect, call) makes an effect once per run, see Effect. Hand.Progress publishes a milestone, an
//     events.SubJobProgressed, without waiting.
//   - Payload(ctx, ref, w) writes an attachment, or an artifact or file of a predecessor, to w.
//   - Keep(ctx, file) stores a file and returns its reference. Give it a Name, and put it into Artifacts of the report.
//   - Show(item) shows a live item to those who watch. Log is a slog.Logger with the job, the SubJob and the attempt.
type Task = expert.Task

// Effect is one call that changes the world or costs money, made by Task.Hand.Do: its result is journaled, and the runner that takes
// the run over after a crash gets it from the journal instead of making the call again.
//
//   - Key identifies the effect within its run and within the runs that continue it. It has to be the same in the next version of the
//     program: a call under another key is another effect, and is made.
//   - Name is the kind of effect, for people. Both are required.
//   - Safe says that the call may be repeated if it is unknown whether it took effect. Otherwise Function.Reconcile or a person is
//     asked.
//   - Args are its arguments, any JSON. A person who is asked sees them.
type Effect = expert.Effect

// ErrUnknown is wrapped by the error of a call that may have taken effect although no answer came, such as a timeout of a bank. Then
// Function.Reconcile or a person is asked before the call is made again, unless the effect is Safe. Any other error of a call says that
// nothing happened: the run fails, and a retry makes the call again.
var ErrUnknown = expert.ErrUnknown

// Inquiry is an effect with an unknown outcome, see Function.Reconcile: Work is the work of the present run, Intent the record of
// the effect, with its Key, its Name and the arguments as Data, and Log a slog.Logger.
type Inquiry = expert.Inquiry

// Finding is the result of reconciling an effect: its State is Done, NotDone or Unknown, Result the result of an effect that is Done,
// and Reason says why.
type Finding = run.Resolution

// Possible outcomes of an effect whose outcome was unknown.
const (
	Done    = run.Done    // It took place; Finding.Result is its result.
	NotDone = run.NotDone // It did not take place, and is made now.
	Unknown = run.Unknown // A person is asked.
)

// Park is the error with which a function waits for a person or a time. Its Input is the question, an events.InputRequested. The run
// ends; the answer begins the next one, which finds it in Task.Work.Answers under the id of the question.
type Park = function.Park

// Func is the work of an expert in Go. A report without an outcome is a SUCCESS; an error is an EXECUTION_ERROR, except *Park. It
// must return soon after ctx has ended.
type Func func(ctx context.Context, t *Task) (events.SubJobReported, error)

// Function is an expert that is a Go function in the process of the runner.
type Function struct {
	// Card describes it; Kind is set to "func", and ID derived from Name when empty.
	Card events.Card
	// Run executes one run of the expert.
	Run Func
	// Reconcile finds the outcome of an effect when it is unknown; nil means that people decide.
	Reconcile func(ctx context.Context, q Inquiry) Finding
}

// Deps are what an embedding program provides; the zero value is valid.
type Deps struct {
	// Bus is a connection to use, which stays open; nil makes Run open its own from the process's settings.
	Bus *bus.Bus
	// Functions are experts in Go, in addition to those of card files.
	Functions []Function
	// Doer sends model requests instead of an HTTP client.
	Doer llm.Doer
	// Owner names this runner in claims; it must be unique. Generated if empty.
	Owner string
	// Sandbox is the result of HookSandbox; without it experts of kind command run only if their sandbox is none.
	Sandbox Sandbox
	// Hook is called at every boundary between two effects with the boundary's name and the run ("<job>/<subjob>/<run>").
	// An error ends the run there, as a crash would: nothing is settled or published. It must be safe for concurrent use.
	// For tests.
	Hook func(point, run string) error
}

// Points lists the names of the boundaries at which Deps.Hook is called.
func Points() []string { return service.Points(loop.Points()) }
