package jobtest

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Expert answers one run. DurationMS of the report is how long the run takes in virtual time; runs overlap.
type Expert func(events.Work) events.SubJobReported

// Planner answers planning work: a plan, or why there is none. Work.Kind tells plan, replan and split apart.
type Planner func(events.Work) (*events.Plan, error)

// Act is an intervention from outside while the job runs: a control event or an answer.
type Act struct {
	// At is when, counted from the start of the job.
	At time.Duration
	// Kind says what Data is: StopRequested, RecoverRequested, RetryRequested, InputClosed and the like.
	Kind events.Kind
	// Key is the request that an InputClosed is about.
	Key string
	// Data is the payload.
	Data any
}

// Script is a job with everybody who takes part in it.
type Script struct {
	// Request is what is asked for. Its plan is not read: give Plan or Planner.
	Request events.Request
	// Plan is the answer to the first planning of the whole job.
	Plan *events.Plan
	// Planner answers all other planning, and the first one when Plan is nil.
	Planner Planner
	// Experts are found by the Expert of a SubJob; Default serves all others.
	Experts map[string]Expert
	Default Expert
	// Rules decide the job; DefaultRules when nil.
	Rules *events.Rules
	// Acts happen from outside.
	Acts []Act
	// Start is the virtual moment of admission; the year 2026 when zero.
	Start time.Time
	// MaxEvents bounds the log, 100,000 when 0: a script that never ends is an error.
	MaxEvents int
}

// Run is one run of one SubJob as it was carried out.
type Run struct {
	SubJob  string
	Run     int
	Expert  string
	Outcome events.Outcome
	// At is when it was issued, counted from the start of the job.
	At time.Duration
}

// Result is what came out.
type Result struct {
	// State is the fold of the log at its end.
	State graph.State
	// Events is the log.
	Events []events.Event
	// Runs are all runs in the order in which they were issued, planning left out.
	Runs []Run
	// Elapsed is the virtual time that passed.
	Elapsed time.Duration
	// Output is the job's result, nil when it has none.
	Output json.RawMessage
}

// Errors of Run.
var (
	// ErrEndless means that the log reached MaxEvents.
	ErrEndless = errors.New("the job does not come to an end")
	// ErrNobody means that no expert and no default serves a SubJob.
	ErrNobody = errors.New("no scripted expert")
)

// DefaultRules are those that intake writes when a request gives no limits, with retention left out.
func DefaultRules() events.Rules {
	return events.Rules{
		Version: events.RulesVersion, MaxSteps: 20_000, MaxPlanRounds: 3, LifeCycle: 3, Retries: 3, InputRounds: 2,
		RetryDelay: events.Duration(time.Second), RetryDelayMax: events.Duration(time.Minute),
		FailurePolicy: events.FailFast, Finalize: "tails",
		Lease: events.Duration(30 * time.Second), LeaseMargin: events.Duration(5 * time.Second),
	}
}

// Succeed is a SUCCESS with an output; a value that cannot be JSON is a bug of the test and panics.
func Succeed(output any) events.SubJobReported {
	return events.SubJobReported{Outcome: events.Success, Output: raw(output)}
}

// Fail is an EXECUTION_ERROR with a lesson for the next attempt.
func Fail(lesson string) events.SubJobReported {
	return events.SubJobReported{
		Outcome: events.ExecutionError, Lesson: lesson, Error: &events.Fault{Code: events.CodeExecution, Message: lesson},
	}
}

// Complain is an INPUT_DATA_ERROR: the predecessors run again with the lesson.
func Complain(lesson string) events.SubJobReported {
	return events.SubJobReported{Outcome: events.InputDataError, Lesson: lesson}
}

// TooComplicated asks that the SubJob be split.
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
