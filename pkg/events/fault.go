package events

import (
	"encoding/json"
	"slices"
	"strings"
)

// Code names a class of fault. Codes are stable: programs branch on them, and docs list them.
type Code string

// The codes a sender can meet.
const (
	CodeMalformed        Code = "malformed"                 // The bytes are not what the subject carries.
	CodeUnknownField     Code = "unknown_field"             // A field that the contract does not know.
	CodeInvalid          Code = "invalid"                   // A known field with an unusable value.
	CodeMissing          Code = "missing"                   // A required field is absent or empty.
	CodeTooLarge         Code = "too_large"                 // More bytes or items than the limit.
	CodeDuplicateID      Code = "duplicate_id"              // Two things of one plan bear the same id.
	CodeCycle            Code = "cycle"                     // The dependencies of a plan run in a circle.
	CodeDangling         Code = "dangling"                  // A dependency on a SubJob that does not exist.
	CodeUnknownExpert    Code = "unknown_expert"            // No enabled card bears that name or id.
	CodeHiddenExpert     Code = "hidden_expert"             // The expert exists but may not be planned for.
	CodeConflict         Code = "conflict"                  // The state expected by the sender no longer holds.
	CodeNotFound         Code = "not_found"                 // No such job, SubJob, request or file.
	CodeNoPlanner        Code = "no_planner"                // A goal without a plan, and no model to make one.
	CodeRejected         Code = "rejected"                  // The planner or a person refused the job.
	CodeExecution        Code = "execution_error"           // The expert could not do its work.
	CodeInputData        Code = "input_data_error"          // What predecessors handed over cannot be worked with.
	CodeTooComplicated   Code = "job_too_complicated_error" // The SubJob is too large for one expert.
	CodeLifeCycle        Code = "life_cycle_exhausted"      // A SubJob may not be split again.
	CodeBudget           Code = "budget_exceeded"           // Tokens, cost, steps or rounds ran out.
	CodeDeadline         Code = "deadline_exceeded"         // The job's deadline passed.
	CodeTimeout          Code = "timeout"                   // A SubJob ran longer than it may.
	CodeCancelled        Code = "cancelled"                 // Stopped while it ran.
	CodeFailedByHand     Code = "failed_by_request"         // The failure was requested.
	CodeUnavailable      Code = "unavailable"               // Bus, model or a needed service is away.
	CodeNotPermitted     Code = "not_permitted"             // The sender lacks the right; an expert that reports it is not tried again.
	CodeMissingBlob      Code = "missing_blob"              // A payload that an event names is gone.
	CodeMustUnderstand   Code = "must_understand"           // The event is from a version this one cannot skip.
	CodeSkippable        Code = "skippable"                 // The event is from a later version, and may be passed over.
	CodeInternal         Code = "internal"                  // A bug of ours; the cause says where.
	CodeInputRounds      Code = "input_rounds_exhausted"    // Inputs were sent back as often as they may be.
	CodeUnreachableAfter Code = "dependency_failed"         // A predecessor failed, so this never starts.
	CodeReused           Code = "reused"                    // A remark, no fault: the plan of an earlier job was taken.
)

// Fault is the one error shape of every reply, rejection, report and CLI answer.
type Fault struct {
	Code    Code   `json:"code"`              // Code is the class, stable for programs.
	Message string `json:"message"`           // Message says what is wrong, for people.
	Field   string `json:"field,omitempty"`   // Field is the place in the input, as a dotted path, empty when the whole is meant.
	Cause   string `json:"cause,omitempty"`   // Cause is the underlying error's text.
	Hint    string `json:"hint,omitempty"`    // Hint says what to do next.
	RawRef  *Ref   `json:"raw_ref,omitempty"` // RawRef names the raw bytes that were kept for diagnosis.
}

// Error gives place, message and cause on one line.
func (f *Fault) Error() string {
	parts := []string{f.Field, f.Message, f.Cause}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// UnmarshalJSON also reads a bare string, which is how a worker in a few lines of shell states an error.
func (f *Fault) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*f = Fault{Code: CodeExecution, Message: text}
		return nil
	}
	type plain Fault
	return json.Unmarshal(data, (*plain)(f))
}

// Faults is every fault of one input, reported together.
type Faults []Fault

// Error joins all faults, one a line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].Error()
	}
	return strings.Join(lines, "\n")
}

// OrNil gives nil for an empty list, so that a function can return it as an error.
func (f Faults) OrNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Rejection is what a sender of a bad request gets: every fault, and the id of the job when one could be read.
type Rejection struct {
	JobID  string `json:"job_id,omitempty"` // JobID is the id that the request bore, if any.
	Faults Faults `json:"faults"`           // Faults lists everything that is wrong with it.
}
