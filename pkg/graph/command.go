package graph

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// CommandKind is what a command asks the scheduler to do.
type CommandKind string

// The kinds of commands.
const (
	// RunSubJob publishes the work of a run. It is pending until the run starts, reports, parks or is closed.
	RunSubJob CommandKind = "run_subjob"
	// CloseRun fences a run: append closed(run) to its journal, purge its work message, tell its worker over core NATS, then
	// publish subjob.closed. It is pending until that is read back.
	CloseRun CommandKind = "close_run"
	// ArmTimer schedules timer.fired. It is pending until it fires or is no longer needed.
	ArmTimer CommandKind = "arm_timer"
	// CloseInput publishes input.closed for a request that expired or is no longer needed.
	CloseInput CommandKind = "close_input"
	// StateFact publishes a fact of the scheduler itself. It is pending until it is read back.
	StateFact CommandKind = "state_fact"
	// EndJob publishes the terminal fact, only if the job's control subject still ends at Expect. It is pending until
	// it is read back.
	EndJob CommandKind = "end_job"
	// ReapJob deletes everything of the job: work, timers, journal, blobs, log, state, in this order.
	ReapJob CommandKind = "reap_job"
)

// CommandID identifies a command: the same state gives the same ids in every process.
type CommandID struct {
	Kind   CommandKind
	SubJob string
	Run    int
	// Key is the timer, the request or the turn.
	Key string
}

// Command is one thing that a state asks the scheduler to do.
type Command struct {
	CommandID
	// Order is what to put into the work message, for RunSubJob.
	Order *Order
	// At is when a timer is due, for ArmTimer.
	At time.Time
	// Reason is why a run is closed, and Pool the pool of its expert, for CloseRun.
	Reason, Pool string
	// Fact is the kind and Data the payload to publish, for StateFact, EndJob and CloseInput.
	Fact events.Kind
	Data any
	// Expect is the sequence at which the control subject must still end, for EndJob.
	Expect uint64
	// Tails are the results that make the job's result, for EndJob of a job that has any.
	Tails []Input
	// PurgeTimers is true when the job may have armed timers, for EndJob.
	PurgeTimers bool
}

// Order is the content of a work message as references into the log, which the shell resolves.
type Order struct {
	// Kind is what to do; Pool and Expert address it.
	Kind         events.WorkKind
	Pool, Expert string
	// Former are the pools of earlier runs.
	Former []events.Tenure
	// Attempt counts from 1 within a series of retries; ResumeOf is the run whose journal is continued.
	Attempt, ResumeOf int
	// Spec is where the SubJob's text is; empty for planning and finalising the job.
	Spec Spec
	// Inputs are the results of the direct predecessors, in the order of the dependencies.
	Inputs []Input
	// Lessons are sequences of events whose lesson is passed on, oldest first.
	Lessons []uint64
	// Answers are sequences of input.closed events of the runs that this one resumes.
	Answers []uint64
	// Select lists the dotted paths that conditions of successors read in the result.
	Select []string
	// LifeCycle is how often the SubJob may still be split.
	LifeCycle int
	// PlanVersion is the version of the graph a plan will be based on, and Finished the SubJobs with a result, for planning.
	PlanVersion int
	Finished    []string
	// Deadline is when the job must have ended, zero for never.
	Deadline time.Time
	// Session is the session of a handed-off SubJob; empty for all others, which belong to the job's session.
	Session string
	// Finalize is how the result is made, Steps what was carried out, in the order of Inputs, and PlanSeq the event with the plan;
	// empty for all other work.
	Finalize string
	Steps    []Step
	PlanSeq  uint64
}

// Step is a finished SubJob: where its text is, and its direct predecessors.
type Step struct {
	ID   string
	Spec Spec
	Deps []string
}

// Spec is where the text of a SubJob is: the event with its plan, its id in that plan, and the events that have edited it since.
type Spec struct {
	Seq   uint64   `json:"seq"`
	ID    string   `json:"id,omitempty"`
	Edits []uint64 `json:"edits,omitempty"`
}

// Input is where the result of a SubJob is.
type Input struct {
	SubJob string
	// Run made the result; 0 for one that came with the plan.
	Run int
	// Seq is the event that has it: a report, or the event of Spec if it came with the plan.
	Seq uint64
	// Spec is set for a result that came with the plan.
	Spec Spec
	// Skipped is true if there is none, because the condition of the SubJob was false.
	Skipped bool
}

// Verdict is what Step did with an event.
type Verdict string

// The possible verdicts.
const (
	Applied   Verdict = "applied"
	Duplicate Verdict = "duplicate" // It had been applied before.
	Ignored   Verdict = "ignored"   // It is not legal in this state; the reason says why.
	Poisoned  Verdict = "poisoned"  // It cannot be understood and must not be skipped: leave the job alone.
)

// Effect is the result of Step.
type Effect struct {
	Verdict Verdict
	// Reason says why an event was ignored.
	Reason string
}
