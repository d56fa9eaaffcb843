package jobtest

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Expert answers one run. DurationMS in its report is the duration of the run in virtual time; runs overlap.
type Expert func(events.Work) events.SubJobReported

// Planner answers planning work with a plan or an error. Work.Kind distinguishes plan, replan and split.
type Planner func(events.Work) (*events.Plan, error)

// Act is an external intervention while the job runs: a control event or an answer.
type Act struct {
	// At is the time from the start of the job.
	At time.Duration
	// Kind determines the type of Data: StopRequested, RecoverRequested, RetryRequested, InputClosed and the like.
	Kind events.Kind
	// Key is the id of the request that an InputClosed answers.
	Key string
	// Data is the payload of the event.
	Data any
}

// Script is a job with all its participants.
type Script struct {
	// Request is the job's request. Its plan is ignored: use Plan or Planner.
	Request events.Request
	// Plan is the answer to the first planning of the whole job.
	Plan *events.Plan
	// Planner answers all other planning, and also the first if Plan is nil.
	Planner Planner
	// Experts are selected by the Expert of a SubJob; Default serves all others.
	Experts map[string]Expert
	Default Expert
	// Rules are the rules of the job; DefaultRules if nil.
	Rules *events.Rules
	// Acts are external interventions while the job runs.
	Acts []Act
	// Start is the virtual time of admission; zero means the year 2026.
	Start time.Time
	// MaxEvents limits the log; 0 means 100,000. A script that never ends is an error.
	MaxEvents int
}

// Run is one executed run of one SubJob.
type Run struct {
	SubJob  string
	Run     int
	Expert  string
	Outcome events.Outcome
	// At is when it was issued, from the start of the job.
	At time.Duration
}

// Result is the result of playing a script.
type Result struct {
	// State is the folded state at the end.
	State graph.State
	// Events are the events of the log, in order.
	Events []events.Event
	// Runs are all runs in the order in which they were issued, without planning.
	Runs []Run
	// Elapsed is the virtual time that passed.
	Elapsed time.Duration
	// Output is the job's result, nil if it has none.
	Output json.RawMessage
}

// The errors of Run.
var (
	// ErrEndless means that the log reached MaxEvents.
	ErrEndless = errors.New("the job does not come to an end")
	// ErrNobody means that neither an expert nor a default serves a SubJob.
	ErrNobody = errors.New("no scripted expert")
)

// DefaultRules returns the rules that intake writes if a request sets no limits, without retention.
func DefaultRules() events.Rules {
	return events.Rules{
		Version: events.RulesVersion, MaxSteps: 20_000, MaxPlanRounds: 3, LifeCycle: 3, Retries: 3, InputRounds: 2,
		RetryDelay: events.Duration(time.Second), RetryDelayMax: events.Duration(time.Minute),
		FailurePolicy: events.FailFast, Finalize: "tails",
		Lease: events.Duration(30 * time.Second), LeaseMargin: events.Duration(5 * time.Second),
	}
}

// Succeed returns a SUCCESS with an output; a value that cannot be encoded is a bug of the test and panics.
func Succeed(output any) events.SubJobReported {
	return events.SubJobReported{Outcome: events.Success, Output: raw(output)}
}

// Fail returns an EXECUTION_ERROR with a lesson for the next attempt.
func Fail(lesson string) events.SubJobReported {
	return events.SubJobReported{
		Outcome: events.ExecutionError, Lesson: lesson, Error: &events.Fault{Code: events.CodeExecution, Message: lesson},
	}
}

// Complain returns an INPUT_DATA_ERROR: the predecessors rerun with the lesson.
func Complain(lesson string) events.SubJobReported {
	return events.SubJobReported{Outcome: events.InputDataError, Lesson: lesson}
}

// TooComplicated returns an outcome that asks to split the SubJob.
func TooComplicated(lesson string) events.SubJobReported {
	return events.SubJobReported{Outcome: events.TooComplicated, Lesson: lesson}
}

func raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
