package events

import (
	"encoding/json"
	"slices"
	"strings"
)

// Code is a class of faults. Codes are stable: programs branch on them, and docs list them.
type Code string

// The codes that a sender may receive.
const (
	CodeMalformed        Code = "malformed"                 // The body is not what the subject requires.
	CodeUnknownField     Code = "unknown_field"             // The contract has no such field.
	CodeInvalid          Code = "invalid"                   // A known field with an unusable value.
	CodeMissing          Code = "missing"                   // A required field is absent or empty.
	CodeTooLarge         Code = "too_large"                 // More bytes or items than the limit.
	CodeDuplicateID      Code = "duplicate_id"              // Two items of a plan have the same id.
	CodeCycle            Code = "cycle"                     // The dependencies of a plan form a cycle.
	CodeDangling         Code = "dangling"                  // A dependency on a SubJob that does not exist.
	CodeUnknownExpert    Code = "unknown_expert"            // No enabled card has that name or id.
	CodeHiddenExpert     Code = "hidden_expert"             // The expert exists but plans may not use it.
	CodeConflict         Code = "conflict"                  // The state that the sender expected has changed.
	CodeNotFound         Code = "not_found"                 // No such job, SubJob, request or file.
	CodeNoPlanner        Code = "no_planner"                // A goal without a plan, and no model to plan with.
	CodeRejected         Code = "rejected"                  // The planner or a person rejected the job.
	CodeExecution        Code = "execution_error"           // The expert failed.
	CodeInputData        Code = "input_data_error"          // The inputs from predecessors are unusable.
	CodeTooComplicated   Code = "job_too_complicated_error" // The SubJob is too large for one expert.
	CodeLifeCycle        Code = "life_cycle_exhausted"      // A SubJob may not be split again, or the attempts are used up.
	CodeBudget           Code = "budget_exceeded"           // Tokens, cost, steps or rounds are used up.
	CodeDeadline         Code = "deadline_exceeded"         // The job's deadline has passed.
	CodeTimeout          Code = "timeout"                   // A SubJob ran longer than allowed, or a command longer than --timeout.
	CodeCancelled        Code = "cancelled"                 // The SubJob was stopped while it ran, or a signal ended the command.
	CodeFailedByHand     Code = "failed_by_request"         // The failure was requested.
	CodeUnavailable      Code = "unavailable"               // The bus, a model or a required service is unreachable.
	CodeNotPermitted     Code = "not_permitted"             // The sender lacks the right, or a model or its provider declines; an expert that reports it is not tried again.
	CodeUnauthenticated  Code = "unauthenticated"           // The sender has no valid token.
	CodeTooMany          Code = "too_many_requests"         // The sender asks more often, or for more at once, than allowed.
	CodeMissingBlob      Code = "missing_blob"              // A payload that an event refers to is gone.
	CodeMustUnderstand   Code = "must_understand"           // The event comes from a later version and cannot be skipped.
	CodeSkippable        Code = "skippable"                 // The event comes from a later version and may be skipped.
	CodeInternal         Code = "internal"                  // A bug in Jobgraph; the cause says where.
	CodeInputRounds      Code = "input_rounds_exhausted"    // Inputs were sent back as often as allowed.
	CodeUnreachableAfter Code = "dependency_failed"         // A predecessor failed, so this never starts.
	CodeMissingContext   Code = "missing_context"           // The request lacks something that no person has said.
	CodeGuidance         Code = "guidance"                  // A remark, not a fault: the planner's words to the person.
	CodeReused           Code = "reused"                    // A remark, not a fault: the plan of an earlier job was reused.
)

// Fault is the common form of errors in replies, rejections, reports and CLI output.
type Fault struct {
	Code    Code   `json:"code"`              // Code is the class, stable for programs.
	Message string `json:"message"`           // Message says what is wrong, for people.
	Field   string `json:"field,omitempty"`   // Field is the place in the input, as a dotted path; empty if the whole input is meant.
	Cause   string `json:"cause,omitempty"`   // Cause is the text of the underlying error.
	Hint    string `json:"hint,omitempty"`    // Hint says what to do next.
	RawRef  *Ref   `json:"raw_ref,omitempty"` // RawRef refers to the raw bytes stored for diagnosis.
}

// Error returns the place, the message and the cause on one line.
func (f *Fault) Error() string {
	parts := []string{f.Field, f.Message, f.Cause}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// UnmarshalJSON also accepts a bare string, as a worker written in a few lines of shell may send.
func (f *Fault) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*f = Fault{Code: CodeExecution, Message: text}
		return nil
	}
	type plain Fault
	return json.Unmarshal(data, (*plain)(f))
}

// Faults lists all faults of one input.
type Faults []Fault

// Error joins all faults, one per line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].Error()
	}
	return strings.Join(lines, "\n")
}

// OrNil returns nil for an empty list, so that a function can return it as an error.
func (f Faults) OrNil() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Rejection is the answer to a bad request: every fault, and the id of the job if it could be read.
type Rejection struct {
	JobID  string `json:"job_id,omitempty"` // JobID is the id in the request, if any.
	Faults Faults `json:"faults"`           // Faults lists everything that is wrong with it.
}
