package events

import "slices"

// Outcome is how a run of a SubJob ended.
type Outcome string

// The four outcomes, those of Chat2Graph's WorkflowStatus.
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

// Status is the status of a job or SubJob.
type Status string

// The statuses of jobs and SubJobs. A job is never READY or LEGACY; a SubJob is never PLANNING or FINALIZING.
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

// Terminal reports whether only an explicit control event can move a job on from s.
func (s Status) Terminal() bool { return s == Finished || s == Failed || s == Stopped }

// FailurePolicy is what a job does when a SubJob has FAILED for good.
type FailurePolicy string

// The failure policies.
const (
	FailFast FailurePolicy = "fail_fast" // Nothing new starts, running work is cancelled, the job is FAILED.
	Continue FailurePolicy = "continue"  // Branches that do not depend on it continue; the job ends FAILED.
	Replan   FailurePolicy = "replan"    // The planner replans the remainder, within max_plan_rounds.
)

// Ref refers to a payload in the object store. It is valid within one job.
type Ref struct {
	Digest    string `json:"digest"`               // Digest is the lower-case hexadecimal SHA-256 of the bytes.
	Size      int64  `json:"size"`                 // Size is the number of bytes.
	Name      string `json:"name,omitempty"`       // Name is a file name for people, if there is one.
	MediaType string `json:"media_type,omitempty"` // MediaType is the media type (RFC 6838), "application/json" if empty.
}

// Limits of messages and payloads, in bytes.
const (
	// MaxInline is the largest payload inside a message; larger ones are stored as blobs.
	MaxInline = 64 << 10
	// MaxMessage is the largest whole message.
	MaxMessage = 512 << 10
)
