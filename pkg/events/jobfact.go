package events

import (
	"encoding/json"
	"errors"
	"time"
)

// RulesVersion is the version of the decision rules that job.requested gets. A core ignores jobs with a higher one.
const RulesVersion = 5

// JobRequested admits a job. All defaults are resolved in it, so that a log folds the same after defaults change.
type JobRequested struct {
	Request    Request         `json:"request"`               // Request is the request; its plan and inputs may have been moved to PlanRef and InputsRef.
	Digest     string          `json:"digest"`                // Digest is the SHA-256 of the request as canonical JSON: the same id with another digest is a conflict.
	Rules      Rules           `json:"rules"`                 // Rules are the resolved limits and policies.
	History    json.RawMessage `json:"history,omitempty"`     // History is what was said in the session before the request, for experts: items of package item, oldest first.
	HistoryRef *Ref            `json:"history_ref,omitempty"` // HistoryRef refers to the history if it is stored as a blob.
}

func (r *JobRequested) check(*Event) error {
	if r.Rules.Version < 1 {
		return errors.New("no rules decide it; only intake writes this event")
	}
	return nil
}

// Rules holds every resolved limit and policy of a job.
type Rules struct {
	Version int `json:"version"` // Version is the version of the decision rules, RulesVersion when written.
	// MaxSteps, MaxPlanRounds, LifeCycle, Retries, InputRounds, Concurrency, ConcurrencyKey and KeyConcurrency are as in Limits, resolved.
	MaxSteps       int      `json:"max_steps"`
	MaxPlanRounds  int      `json:"max_plan_rounds"`
	LifeCycle      int      `json:"life_cycle"`
	Retries        int      `json:"retries"`
	InputRounds    int      `json:"input_rounds"`
	Concurrency    int      `json:"concurrency"`
	ConcurrencyKey string   `json:"concurrency_key,omitempty"`
	KeyConcurrency int      `json:"key_concurrency,omitempty"`
	JobInputRounds int      `json:"job_input_rounds"` // JobInputRounds limits the input rounds of the whole job; 0 means four times its SubJobs, at least 32.
	RetryDelay     Duration `json:"retry_delay"`      // RetryDelay is the wait before the first retry.
	RetryDelayMax  Duration `json:"retry_delay_max"`  // RetryDelayMax limits the doubling of RetryDelay.
	Deadline       Duration `json:"deadline"`         // Deadline is how long the job may take from its admission; 0 means no deadline.
	Answer         Duration `json:"answer,omitempty"` // Answer is how long a question stays open whose asker sets no time; 0 means for ever.
	// Tokens and CostUSD are the job's budgets; 0 means none.
	Tokens        int64         `json:"tokens"`
	CostUSD       float64       `json:"cost_usd"`
	FailurePolicy FailurePolicy `json:"failure_policy"` // FailurePolicy says what happens when a SubJob has FAILED for good.
	Finalize      string        `json:"finalize"`       // Finalize is "tails", "none", "summary", "report" or "expert:<id>"; the planner may choose instead of "tails".
	// Lease is how long a claim holds without renewal; LeaseMargin is an additional wait before a closed run is replaced.
	Lease       Duration `json:"lease"`
	LeaseMargin Duration `json:"lease_margin"`
	Timezone    string   `json:"timezone,omitempty"` // Timezone is the time zone of the person: that of request, session, user or caller; empty if none of them names one.
	Retention   Duration `json:"retention"`          // Retention is how long the job is kept after its end; 0 means for ever.
}

// Spent is what a piece of work has cost.
type Spent struct {
	Tokens  int64   `json:"tokens,omitempty"`   // Tokens counts model tokens, prompt and completion.
	CostUSD float64 `json:"cost_usd,omitempty"` // CostUSD is the cost in US dollars.
}

// GraphCreated contains a checked plan. The planning run in its subject identifies what it is based on.
type GraphCreated struct {
	PlanVersion int    `json:"plan_version,omitempty"` // PlanVersion is the version of the graph that the planner read.
	Plan        *Plan  `json:"plan,omitempty"`         // Plan is the graph; a reader resolves PlanRef into it if the plan is stored by reference.
	PlanRef     *Ref   `json:"plan_ref,omitempty"`     // PlanRef refers to the plan's blob.
	Finalize    string `json:"finalize,omitempty"`     // Finalize is "none", or how the planner writes up the result: "summary" or "report", followed by ":<id>" of the expert that stands in for its model.
	// FinalPool and FinalPure are the pool of the expert in "finalize" and whether it is pure.
	FinalPool string `json:"final_pool,omitempty"`
	FinalPure bool   `json:"final_pure,omitempty"`
	Warnings  Faults `json:"warnings,omitempty"` // Warnings lists what was repaired, changed or left out.
	// Notices are what a person should know before the SubJobs begin: guidance of the planner (CodeGuidance), then warnings.
	Notices       Faults        `json:"notices,omitempty"`
	FailurePolicy FailurePolicy `json:"failure_policy,omitempty"` // FailurePolicy is the profile's, if the request has none.
	// Fallback names the level of the profile that made the plan because the model gave none that is valid: earlier, single or
	// three_steps; empty if the plan is the model's, the request's, or one that was kept.
	Fallback string `json:"fallback,omitempty"`
	Spent
}

// PlanRejected ends a planning run without a plan.
type PlanRejected struct {
	Faults Faults `json:"faults"` // Faults lists everything that is wrong.
	Spent
}

// JobAnswered ends the planning of a job with an answer.
type JobAnswered struct {
	Answer  json.RawMessage `json:"answer"`            // Answer is the answer to the person, a text or JSON.
	Outcome string          `json:"outcome,omitempty"` // Outcome is OutcomeGuidance if the job could not be planned and Answer says why; empty for an answer.
	Spent
}

// OutcomeGuidance is the outcome of a job that ends FINISHED without a plan: its result tells the person what is missing.
const OutcomeGuidance = "guidance"

// StopRequested asks for a stop.
type StopRequested struct {
	SubJob string `json:"subjob,omitempty"` // SubJob limits the request to one SubJob; empty means the job.
	Only   bool   `json:"only,omitempty"`   // Only stops that SubJob and its dependents; the rest of the job continues.
	Reason string `json:"reason,omitempty"` // Reason is shown to people and kept in the state.
	By     string `json:"by,omitempty"`     // By is who asked.
	Run    int    `json:"run,omitempty"`    // Run, if set, is the run of SubJob that the sender knew.
}

// FailRequested asks to declare a failure; its fields mean the same as those of a stop.
type FailRequested StopRequested

// RecoverRequested asks a STOPPED or FAILED job to continue.
type RecoverRequested struct {
	From string `json:"from,omitempty"` // From also reruns this FINISHED SubJob and its dependents.
	By   string `json:"by,omitempty"`   // By is who asked.
}

// RetryRequested asks for another run of a FAILED or STOPPED SubJob.
type RetryRequested struct {
	SubJob string `json:"subjob"`        // SubJob is its id.
	Run    int    `json:"run,omitempty"` // Run, if set, is the run that the sender knew.
	By     string `json:"by,omitempty"`  // By is who asked.
}

// RerunRequested runs the job again from a SubJob.
type RerunRequested struct {
	SubJob string `json:"subjob"`        // SubJob is its id.
	Run    int    `json:"run,omitempty"` // Run, if set, is the run that the sender knew.
	// Edit replaces the fields that it contains: goal, context, completion_criteria, thinking, expert, pool, pure, timeout.
	Edit json.RawMessage `json:"edit,omitempty"`
	By   string          `json:"by,omitempty"` // By is who asked.
}

// PlanEdited replaces the unfinished part of the graph.
type PlanEdited struct {
	PlanVersion int    `json:"plan_version"`       // PlanVersion is the version that the editor knew; an edit of any other version is stale.
	Plan        *Plan  `json:"plan,omitempty"`     // Plan is the whole new graph; FINISHED SubJobs that it contains are kept.
	PlanRef     *Ref   `json:"plan_ref,omitempty"` // PlanRef refers to the plan if it is stored as a blob.
	By          string `json:"by,omitempty"`       // By is who edited.
}

// JobMoved is a change of a job's status other than its end.
type JobMoved struct {
	Status Status `json:"status"`           // Status is the new status.
	Turn   int    `json:"turn"`             // Turn counts the changes of this job's status.
	Cause  uint64 `json:"cause"`            // Cause is the sequence of the event that caused the change.
	Reason string `json:"reason,omitempty"` // Reason is shown to people.
}

// JobEnded is the end of a job.
type JobEnded struct {
	JobMoved
	Result     json.RawMessage `json:"result,omitempty"`     // Result is the final answer, if it is inline.
	ResultRef  *Ref            `json:"result_ref,omitempty"` // ResultRef refers to the final answer if it is stored as a blob.
	Artifacts  []Ref           `json:"artifacts,omitempty"`  // Artifacts are the files of the result, named SUBJOB/NAME.
	Error      *Fault          `json:"error,omitempty"`      // Error says why a job FAILED or was STOPPED.
	Outcome    string          `json:"outcome,omitempty"`    // Outcome is OutcomeGuidance for a job that could not be planned; otherwise empty.
	DurationMS int64           `json:"duration_ms"`          // DurationMS is the time from admission to the end, in milliseconds of the log's clock.
	Spent
}

// GraphReplaced lists the nodes that a split, a replan or an edit removed and added.
type GraphReplaced struct {
	SubJob      string   `json:"subjob,omitempty"`  // SubJob is the node that was split, empty for a replan or an edit.
	PlanVersion int      `json:"plan_version"`      // PlanVersion is the new version.
	Added       []string `json:"added,omitempty"`   // Added are ids of SubJobs.
	Removed     []string `json:"removed,omitempty"` // Removed are ids of SubJobs.
	Cause       uint64   `json:"cause"`             // Cause is the sequence of the event that caused it.
}

// SessionMoved is the beginning or the end of the session of a handed-off SubJob.
type SessionMoved struct {
	Session string `json:"session"`          // Session is its id; Thread is the thread of the request, which the session keeps.
	Thread  string `json:"thread,omitempty"` // Thread is empty if the request has none.
	SubJob  string `json:"subjob"`           // SubJob is the handed-off SubJob.
	Status  Status `json:"status"`           // Status is READY at the beginning, and FINISHED, FAILED, STOPPED or LEGACY at the end.
	Cause   uint64 `json:"cause"`            // Cause is the sequence of the event that caused it.
}

// JobAdvanced lists the transitions of SubJobs between two saves of the state.
type JobAdvanced struct {
	From        uint64       `json:"from"`        // From is the log sequence before the first transition, exclusive.
	To          uint64       `json:"to"`          // To is the log sequence of the last one, inclusive.
	Transitions []Transition `json:"transitions"` // Transitions are in the order in which they happened.
}

// Transition is one change of the status of a SubJob.
type Transition struct {
	SubJob     string `json:"subjob"`        // SubJob is the SubJob that moved.
	Run        int    `json:"run,omitempty"` // Run is the run that moved.
	Transition string `json:"transition"`    // Transition is ready, running, completed, failed, stopped, requeued, replaced, waiting, skipped or created.
	Cause      uint64 `json:"cause"`         // Cause is the sequence of the event that caused it.
}

// TimerFired is a due timer.
type TimerFired struct {
	Timer string    `json:"timer"` // Timer is its id, unique within the job.
	Due   time.Time `json:"due"`   // Due is the time it was armed for.
}
