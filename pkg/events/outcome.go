package events

import "slices"

// Outcome is how a run of a SubJob ended.
type Outcome string

// The four outcomes (Chat2Graph's WorkflowStatus; ancestors C5).
const (
	Success        Outcome = "SUCCESS"
	ExecutionError Outcome = "EXECUTION_ERROR"
	InputDataError Outcome = "INPUT_DATA_ERROR"
	TooComplicated Outcome = "JOB_TOO_COMPLICATED_ERROR"
)

// Valid reports whether o is one of the four.
func (o Outcome) Valid() bool {
	return slices.Contains([]Outcome{Success, ExecutionError, InputDataError, TooComplicated}, o)
}

// Status is where a job or a SubJob stands.
type Status string

// Statuses of jobs and SubJobs. A job never is READY or LEGACY; a SubJob never is PLANNING or FINALIZING.
const (
	Created    Status = "CREATED"
	Planning   Status = "PLANNING"
	Ready      Status = "READY"
	Running    Status = "RUNNING"
	Waiting    Status = "WAITING"
	Finalizing Status = "FINALIZING"
	Finished   Status = "FINISHED"
	Failed     Status = "FAILED"
	Stopped    Status = "STOPPED"
	Legacy     Status = "LEGACY"
)

// Terminal reports whether nothing but an explicit control event moves a job on from s.
func (s Status) Terminal() bool { return s == Finished || s == Failed || s == Stopped }

// FailurePolicy decides what a job does when a SubJob has FAILED for good.
type FailurePolicy string

// The failure policies.
const (
	FailFast FailurePolicy = "fail_fast" // Nothing new starts, running work is cancelled, the job is FAILED.
	Continue FailurePolicy = "continue"  // Branches that do not depend on it go on; the job ends FAILED.
	Replan   FailurePolicy = "replan"    // The planner plans the remainder again, within max_plan_rounds.
)

// Ref names a payload kept in the object store: identity within one job.
type Ref struct {
	Digest    string `json:"digest"`               // Digest is the lower-case hexadecimal SHA-256 of the bytes.
	Size      int64  `json:"size"`                 // Size is the number of bytes.
	Name      string `json:"name,omitempty"`       // Name is a file name for people, when there is one.
	MediaType string `json:"media_type,omitempty"` // MediaType is the RFC 6838 type, "application/json" when empty.
}

// Limits of one message and one payload, in bytes.
const (
	// MaxInline is the largest payload that travels inside a message; above it goes by reference.
	MaxInline = 64 << 10
	// MaxMessage is the largest message as a whole.
	MaxMessage = 512 << 10
)
