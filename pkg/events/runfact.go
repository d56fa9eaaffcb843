package events

import (
	"encoding/json"
	"fmt"
	"time"
)

// SubJobStarted says that a worker executes a run. Only long runs publish it, and nothing depends on it.
type SubJobStarted struct {
	Owner   string    `json:"owner,omitempty"`  // Owner is the runner that executes it.
	Started time.Time `json:"started,omitzero"` // Started is when the claim was made, by the runner's clock.
}

// SubJobProgressed reports a milestone of a run.
type SubJobProgressed struct {
	Message string `json:"message,omitempty"` // Message is shown to people.
	Done    int    `json:"done,omitempty"`    // Done is how much of Total is done, in whatever the work counts.
	Total   int    `json:"total,omitempty"`   // Total is how much there is to do; 0 if unknown.

	// Until is set if the work is at a stop, for example while a model is rate limited: it is tried again then.
	Until time.Time `json:"until,omitzero"`
}

// SubJobReported ends a run. Only Outcome is required.
type SubJobReported struct {
	Outcome    Outcome                    `json:"outcome"`               // Outcome is one of the four; anything else counts as EXECUTION_ERROR.
	Output     json.RawMessage            `json:"output,omitempty"`      // Output is the result of a SUCCESS, any JSON.
	OutputRef  *Ref                       `json:"output_ref,omitempty"`  // OutputRef refers to the output if it is stored as a blob.
	Artifacts  []Ref                      `json:"artifacts,omitempty"`   // Artifacts are the files of the run, under the names that it gave them.
	Warnings   Faults                     `json:"warnings,omitempty"`    // Warnings say what is doubtful in the output, or was changed in it.
	Lesson     string                     `json:"lesson,omitempty"`      // Lesson tells the next attempt, or the predecessors, what to do better.
	Error      *Fault                     `json:"error,omitempty"`       // Error says what went wrong.
	Started    time.Time                  `json:"started,omitzero"`      // Started is when the work began, by the runner's clock.
	DurationMS int64                      `json:"duration_ms,omitempty"` // DurationMS is how long it took, in milliseconds.
	Owner      string                     `json:"owner,omitempty"`       // Owner is the runner that reports.
	Selected   map[string]json.RawMessage `json:"selected,omitempty"`    // Selected holds the values that the work's "select" asks for, by pointer, if the output is stored as a blob.
	Log        string                     `json:"log,omitempty"`         // Log is the end of what the run wrote to its standard error or log.
	LogRef     *Ref                       `json:"log_ref,omitempty"`     // LogRef refers to it if it is stored as a blob.
	Calls      []Called                   `json:"calls,omitempty"`       // Calls are the calls of tools of the run, the latest of them, for people; the journal has all.
	RetryAfter Duration                   `json:"retry_after,omitempty"` // RetryAfter asks for a minimum delay before a retry of an EXECUTION_ERROR.
	Spent
	Job       string `json:"job,omitempty"`       // Job, SubJob and Run may be repeated by a worker; they must match the subject.
	SubJob    string `json:"subjob,omitempty"`    // SubJob is that of the subject.
	Run       int    `json:"run,omitempty"`       // Run is that of the subject.
	Malformed string `json:"malformed,omitempty"` // Malformed says why a report could not be parsed; the raw text is in Output.
}

// Called is the call of a tool as conversations show it.
type Called struct {
	Tool    string `json:"tool"`              // Tool is the name of the tool.
	Args    string `json:"args,omitempty"`    // Args is the beginning of its arguments.
	Outcome string `json:"outcome,omitempty"` // Outcome is how it ended: ok, error, denied, rejected or unknown.
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

// Report returns the report of an event of KindSubJobReported. A malformed one becomes an EXECUTION_ERROR with the raw text
// (at most 4 KiB), so that it neither blocks the job nor counts as success.
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

// SubJobClosed records that the scheduler has closed a run in its journal.
type SubJobClosed struct {
	Claimed    bool      `json:"claimed,omitempty"`    // Claimed is true if the run was claimed.
	LeaseUntil time.Time `json:"lease_until,omitzero"` // LeaseUntil is when the last claim expires, by the journal's clock.
}

// InputKind is the kind of a request for input.
type InputKind string

// The kinds of input that a run can request.
const (
	InputClarification InputKind = "clarification" // A question in words.
	InputReview        InputKind = "review"        // Accept, edit or reject a plan.
	InputApproval      InputKind = "approval"      // Approve or reject an action.
	InputForm          InputKind = "form"          // Values that fit a schema.
	InputUnknown       InputKind = "unknown"       // An effect whose outcome is unknown.
	InputTimer         InputKind = "timer"         // No person: continue when it expires.
)

// InputRequested parks a run. The run is closed; its answer starts the next one.
type InputRequested struct {
	Request string          `json:"request"`           // Request is the id of the request, unique within the job.
	Kind    InputKind       `json:"kind"`              // Kind is the kind of input requested.
	Prompt  string          `json:"prompt,omitempty"`  // Prompt is the question.
	Options []string        `json:"options,omitempty"` // Options are the choices, if there are only a few.
	Schema  json.RawMessage `json:"schema,omitempty"`  // Schema is the JSON Schema of an answer.
	User    string          `json:"user,omitempty"`    // User is the only person who may answer; anyone may if empty.
	Open    bool            `json:"open,omitempty"`    // Open means that any text is an answer, besides Options.
	// ExpiresIn limits the wait; 0 means for ever. Default is the answer when it expires. Without a default the run gets no
	// answer and ends with EXECUTION_ERROR, except for InputTimer.
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

// The ways in which a request for input is closed.
const (
	Answered  InputAction = "answered"
	Expired   InputAction = "expired"
	Cancelled InputAction = "cancelled"
)

// InputClosed closes a request for input; the broker accepts only the first.
type InputClosed struct {
	Action InputAction     `json:"action"`           // Action is how it was closed.
	Answer json.RawMessage `json:"answer,omitempty"` // Answer is any JSON; for an approval {"approved":true|false,"reason":…}.
	By     string          `json:"by,omitempty"`     // By is who answered.
}
