package events

import (
	"encoding/json"
	"errors"
	"time"
)

// RulesVersion is the number of the decision rules that job.requested gets. A core leaves a job with a higher number alone.
const RulesVersion = 4

// JobRequested admits a job. Every default is resolved here, so that a log folds the same under later defaults.
type JobRequested struct {
	Request Request `json:"request"` // Request is what was asked for, its plan and inputs possibly moved to PlanRef and InputsRef.
	Digest  string  `json:"digest"`  // Digest is the SHA-256 of the request as canonical JSON: the same id with another digest is a conflict.
	Rules   Rules   `json:"rules"`   // Rules decides the job.
}

func (r *JobRequested) check(*Event) error {
	if r.Rules.Version < 1 {
		return errors.New("no rules decide it; only intake writes this event")
	}
	return nil
}

// Rules holds every resolved limit and policy of a job.
type Rules struct {
	Version int `json:"version"` // Version is the number of the decision rules, RulesVersion when written.
	// MaxSteps, MaxPlanRounds, LifeCycle, Retries, InputRounds, Concurrency, ConcurrencyKey and KeyConcurrency are as in Limits, resolved.
	MaxSteps       int      `json:"max_steps"`
	MaxPlanRounds  int      `json:"max_plan_rounds"`
	LifeCycle      int      `json:"life_cycle"`
	Retries        int      `json:"retries"`
	InputRounds    int      `json:"input_rounds"`
	Concurrency    int      `json:"concurrency"`
	ConcurrencyKey string   `json:"concurrency_key,omitempty"`
	KeyConcurrency int      `json:"key_concurrency,omitempty"`
	JobInputRounds int      `json:"job_input_rounds"` // JobInputRounds bounds input rounds of the whole job; 0 means four times its SubJobs, at least 32.
	RetryDelay     Duration `json:"retry_delay"`      // RetryDelay is the wait before the first retry.
	RetryDelayMax  Duration `json:"retry_delay_max"`  // RetryDelayMax bounds its doubling.
	Deadline       Duration `json:"deadline"`         // Deadline is how long the job may take from its admission; 0 means no deadline.
	// Tokens and CostUSD are the job's budgets; 0 means none.
	Tokens        int64         `json:"tokens"`
	CostUSD       float64       `json:"cost_usd"`
	FailurePolicy FailurePolicy `json:"failure_policy"` // FailurePolicy says what happens when a SubJob has FAILED for good.
	Finalize      string        `json:"finalize"`       // Finalize is "tails", "none", "summary", "report" or "expert:<id>"; the planner may choose in the place of "tails".
	// Lease is how long a claim holds without renewal; LeaseMargin is waited on top before a closed run is replaced.
	Lease       Duration `json:"lease"`
	LeaseMargin Duration `json:"lease_margin"`
	Retention   Duration `json:"retention"` // Retention is how long the job is kept after its end; 0 keeps it for ever.
}

// Spent is what a piece of work has cost.
type Spent struct {
	Tokens  int64   `json:"tokens,omitempty"`   // Tokens counts model tokens, prompt and completion.
	CostUSD float64 `json:"cost_usd,omitempty"` // CostUSD is money in US dollars.
}

// GraphCreated is a checked plan. Its base is the planning run in its subject.
type GraphCreated struct {
	PlanVersion int    `json:"plan_version,omitempty"` // PlanVersion is the version of the graph that the planner read.
	Plan        *Plan  `json:"plan,omitempty"`         // Plan is the graph; the reader fills it in from PlanRef when it went by reference.
	PlanRef     *Ref   `json:"plan_ref,omitempty"`     // PlanRef names the plan's blob.
	Finalize    string `json:"finalize,omitempty"`     // Finalize is "none", or how the planner puts the result into words: "summary" or "report", with ":<id>" of the expert that stands in for its model.
	// FinalPool and FinalPure address the expert of "finalize".
	FinalPool string `json:"final_pool,omitempty"`
	FinalPure bool   `json:"final_pure,omitempty"`
	Warnings  Faults `json:"warnings,omitempty"` // Warnings is what was read leniently, changed or left out.
	Spent
}

// PlanRejected ends a planning run without a plan.
type PlanRejected struct {
	Faults Faults `json:"faults"` // Faults is everything that is wrong.
	Spent
}

// JobAnswered ends the planning of a job with an answer.
type JobAnswered struct {
	Answer json.RawMessage `json:"answer"` // Answer is the text or JSON given to the person.
	Spent
}

// StopRequested asks for a stop.
type StopRequested struct {
	SubJob string `json:"subjob,omitempty"` // SubJob limits the request to one SubJob; empty means the job.
	Only   bool   `json:"only,omitempty"`   // Only keeps the rest of the job going: that SubJob and its dependents are stopped.
	Reason string `json:"reason,omitempty"` // Reason is for people, kept in the state.
	By     string `json:"by,omitempty"`     // By is who asks.
	Run    int    `json:"run,omitempty"`    // Run, when set, is the run of SubJob that the sender saw.
}

// FailRequested declares a failure; its fields mean the same as those of a stop.
type FailRequested StopRequested

// RecoverRequested asks a STOPPED or FAILED job to go on.
type RecoverRequested struct {
	From string `json:"from,omitempty"` // From also runs this FINISHED SubJob and its dependents again.
	By   string `json:"by,omitempty"`   // By is who asks.
}

// RetryRequested asks for another run of a FAILED or STOPPED SubJob.
type RetryRequested struct {
	SubJob string `json:"subjob"`        // SubJob is its id.
	Run    int    `json:"run,omitempty"` // Run, when set, is the run that the sender saw.
	By     string `json:"by,omitempty"`  // By is who asks.
}

// RerunRequested runs the job again from a SubJob.
type RerunRequested struct {
	SubJob string `json:"subjob"`        // SubJob is its id.
	Run    int    `json:"run,omitempty"` // Run, when set, is the run that the sender saw.
	// Edit replaces the fields it names: goal, context, completion_criteria, thinking, expert, pool, pure, timeout.
	Edit json.RawMessage `json:"edit,omitempty"`
	By   string          `json:"by,omitempty"` // By is who asks.
}

// PlanEdited replaces what is unfinished of the graph.
type PlanEdited struct {
	PlanVersion int    `json:"plan_version"`       // PlanVersion is the version that the editor saw; another one makes the edit stale.
	Plan        *Plan  `json:"plan,omitempty"`     // Plan is the whole graph as it should be; SubJobs that are FINISHED and named again are kept.
	PlanRef     *Ref   `json:"plan_ref,omitempty"` // PlanRef is the same by reference.
	By          string `json:"by,omitempty"`       // By is who edits.
}

// JobMoved is a change of a job's status that ends nothing.
type JobMoved struct {
	Status Status `json:"status"`           // Status is the new status.
	Turn   int    `json:"turn"`             // Turn counts the changes of this job's status.
	Cause  uint64 `json:"cause"`            // Cause is the sequence of the event that moved it.
	Reason string `json:"reason,omitempty"` // Reason is for people.
}

// JobEnded is the end of a job.
type JobEnded struct {
	JobMoved
	// Result is the final answer, inline or by reference.
	Result     json.RawMessage `json:"result,omitempty"`
	ResultRef  *Ref            `json:"result_ref,omitempty"` // ResultRef is the same by reference.
	Artifacts  []Ref           `json:"artifacts,omitempty"`  // Artifacts are the files that belong to the result, named SUBJOB/NAME.
	Error      *Fault          `json:"error,omitempty"`      // Error says why a job FAILED or was STOPPED.
	DurationMS int64           `json:"duration_ms"`          // DurationMS is the time from admission to the end, in milliseconds of the log's clock.
	Spent
}

// GraphReplaced tells which nodes a splice, a re-plan or an edit took out and put in.
type GraphReplaced struct {
	SubJob      string   `json:"subjob,omitempty"`  // SubJob is the node that was split, empty for a re-plan or an edit.
	PlanVersion int      `json:"plan_version"`      // PlanVersion is the version that came out of it.
	Added       []string `json:"added,omitempty"`   // Added are ids of SubJobs.
	Removed     []string `json:"removed,omitempty"` // Removed are ids of SubJobs.
	Cause       uint64   `json:"cause"`             // Cause is the sequence of the event behind it.
}

// SessionMoved is the beginning or the end of the session of a SubJob that was handed off.
type SessionMoved struct {
	Session string `json:"session"`          // Session is its id, Thread the request's line of talk, which it keeps.
	Thread  string `json:"thread,omitempty"` // Thread is empty when the request has none.
	SubJob  string `json:"subjob"`           // SubJob is the one that was handed off.
	Status  Status `json:"status"`           // Status is READY at the beginning, FINISHED, FAILED, STOPPED or LEGACY at the end.
	Cause   uint64 `json:"cause"`            // Cause is the sequence of the event behind it.
}

// JobAdvanced lists what happened to SubJobs between two saves of the state.
type JobAdvanced struct {
	From        uint64       `json:"from"`        // From is a sequence of the log, exclusive.
	To          uint64       `json:"to"`          // To is one, inclusive.
	Transitions []Transition `json:"transitions"` // Transitions are in the order they happened.
}

// Transition is one step of one SubJob.
type Transition struct {
	SubJob     string `json:"subjob"`        // SubJob and Run say whose.
	Run        int    `json:"run,omitempty"` // Run is the one that moved.
	Transition string `json:"transition"`    // Transition is ready, running, completed, failed, stopped, requeued, replaced, waiting, skipped or created.
	Cause      uint64 `json:"cause"`         // Cause is the sequence of the event behind it.
}

// TimerFired is a due timer.
type TimerFired struct {
	Timer string    `json:"timer"` // Timer is its id, unique within the job.
	Due   time.Time `json:"due"`   // Due is the moment it was armed for.
}
