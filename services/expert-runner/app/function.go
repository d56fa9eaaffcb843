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

// Task is one run as a function receives it: the work, the log, and the Hand through which it makes effects.
type Task = expert.Task

// Effect is one call that changes the world or costs money; see Task.Hand.
type Effect = expert.Effect

// Inquiry is an effect with an unknown outcome, see Function.Reconcile.
type Inquiry = expert.Inquiry

// Finding is the result of reconciling an effect.
type Finding = run.Resolution

// Possible outcomes of an effect whose outcome was unknown.
const (
	Done    = run.Done    // It took place; Finding.Result is its result.
	NotDone = run.NotDone // It did not take place, and is made now.
	Unknown = run.Unknown // A person is asked.
)

// Park is the error with which a function waits for a person or a time.
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
