package events

import (
	"encoding/json"
	"fmt"
	"time"
)

// SubJobStarted says that a run is being worked on; it is published by work that lasts, and not awaited.
type SubJobStarted struct {
	Owner   string    `json:"owner,omitempty"`  // Owner is the runner at work.
	Started time.Time `json:"started,omitzero"` // Started is when the claim was made, by the runner's clock.
}

// SubJobProgressed is a milestone.
type SubJobProgressed struct {
	Message string `json:"message,omitempty"` // Message is for people.
	// Done and Total count whatever the work counts.
	Done  int `json:"done,omitempty"`
	Total int `json:"total,omitempty"`
}

// SubJobReported ends a run. Only Outcome is needed.
type SubJobReported struct {
	Outcome Outcome `json:"outcome"` // Outcome is one of the four; anything else is read as EXECUTION_ERROR.
	// Output is the result of a SUCCESS, any JSON; OutputRef is the same by reference.
	Output    json.RawMessage `json:"output,omitempty"`
	OutputRef *Ref            `json:"output_ref,omitempty"`
	Artifacts []Ref           `json:"artifacts,omitempty"` // Artifacts are the files that the run has made, by the names it gave them.
	Lesson    string          `json:"lesson,omitempty"`    // Lesson tells the next attempt, or the predecessors, what to do better.
	Error     *Fault          `json:"error,omitempty"`     // Error says what went wrong.
	// Started is when the work began, by the runner's clock; DurationMS how long it took.
	Started    time.Time `json:"started,omitzero"`
	DurationMS int64     `json:"duration_ms,omitempty"`
	Owner      string    `json:"owner,omitempty"` // Owner is the runner that reports.
	// Selected holds the values asked for in the work's "select", by pointer, when the output went by reference.
	Selected   map[string]json.RawMessage `json:"selected,omitempty"`
	RetryAfter Duration                   `json:"retry_after,omitempty"` // RetryAfter asks that a retry of an EXECUTION_ERROR waits at least so long.
	Spent
	// Job, SubJob and Run may be repeated by a worker; they must agree with the subject.
	Job       string `json:"job,omitempty"`
	SubJob    string `json:"subjob,omitempty"`
	Run       int    `json:"run,omitempty"`
	Malformed string `json:"malformed,omitempty"` // Malformed says why a report could not be read as one; the raw text is in Output.
}

func (r *SubJobReported) check(e *Event) error {
	switch {
	case r.Job != "" && r.Job != e.Job, r.SubJob != "" && r.SubJob != e.SubJob, r.Run != 0 && r.Run != e.Run:
		return fmt.Errorf("body is about %s/%s run %d, subject about %s/%s run %d", r.Job, r.SubJob, r.Run, e.Job, e.SubJob, e.Run)
	case !r.Outcome.Valid():
		return fmt.Errorf("unknown outcome %.80q: use SUCCESS, EXECUTION_ERROR, INPUT_DATA_ERROR or JOB_TOO_COMPLICATED_ERROR", string(r.Outcome))
	}
	return nil
}

// Report gives the report of an event of KindSubJobReported. A malformed one becomes an EXECUTION_ERROR that keeps the raw
// text (at most 4 KiB of it): an unknown outcome never blocks a job and never counts as success.
func (e *Event) Report() *SubJobReported {
	if r, ok := e.Data.(*SubJobReported); ok {
		return r
	}
	raw, err := json.Marshal(string(e.Raw[:min(len(e.Raw), 4<<10)]))
	if err != nil || e.Fault == nil {
		return &SubJobReported{Outcome: ExecutionError, Malformed: "no report"}
	}
	return &SubJobReported{
		Outcome: ExecutionError, Output: raw, Malformed: e.Fault.Error(), Error: e.Fault,
		Lesson: "The report could not be read: " + e.Fault.Cause,
	}
}

// SubJobClosed is the scheduler's record that a run is closed in its journal.
type SubJobClosed struct {
	// Claimed is true when the run was held; then LeaseUntil is when the last claim runs out, by the journal's clock.
	Claimed    bool      `json:"claimed,omitempty"`
	LeaseUntil time.Time `json:"lease_until,omitzero"`
}

// InputKind is what a request for input asks for.
type InputKind string

// The kinds of input.
const (
	InputClarification InputKind = "clarification" // A question in words.
	InputReview        InputKind = "review"        // Accept, edit or reject a plan.
	InputApproval      InputKind = "approval"      // Approve or reject an action.
	InputForm          InputKind = "form"          // Values that fit a schema.
	InputUnknown       InputKind = "unknown"       // An effect whose outcome is unknown.
	InputTimer         InputKind = "timer"         // No person: come back when it expires.
)

// InputRequested parks a run. The run is closed; its answer opens the next one.
type InputRequested struct {
	Request string          `json:"request"`           // Request is the id of the request, unique within the job.
	Kind    InputKind       `json:"kind"`              // Kind says what is asked for.
	Prompt  string          `json:"prompt,omitempty"`  // Prompt is the question.
	Options []string        `json:"options,omitempty"` // Options are the choices, if they are few.
	Schema  json.RawMessage `json:"schema,omitempty"`  // Schema is the JSON Schema of an answer.
	User    string          `json:"user,omitempty"`    // User is the only one who may answer; anybody when empty.
	// ExpiresIn bounds the wait; 0 waits for ever. Default is the answer taken when it expires; without one the run gets
	// none and is an EXECUTION_ERROR, except for InputTimer.
	ExpiresIn Duration        `json:"expires_in,omitempty"`
	Default   json.RawMessage `json:"default,omitempty"`
	Spent
}

func (r *InputRequested) check(*Event) error {
	if !ValidToken(r.Request) {
		return fmt.Errorf("request id %.80q does not fit [A-Za-z0-9_-]", r.Request)
	}
	return nil
}

// InputAction is how a request for input was closed.
type InputAction string

// The ways a request for input is closed.
const (
	Answered  InputAction = "answered"
	Expired   InputAction = "expired"
	Cancelled InputAction = "cancelled"
)

// InputClosed closes a request for input; the broker admits one.
type InputClosed struct {
	Action InputAction     `json:"action"`           // Action is how.
	Answer json.RawMessage `json:"answer,omitempty"` // Answer is any JSON; for an approval {"approved":true|false,"reason":…}.
	By     string          `json:"by,omitempty"`     // By is who answered.
}
