package schedule

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Status is the status of a schedule.
type Status string

// The statuses of a schedule.
const (
	Active Status = "active" // There is a next due time.
	Rests  Status = "paused" // No run is due until it is resumed.
	Done   Status = "done"   // No due time is left.
	Gone   Status = "deleted"
)

// State is the state of a schedule, folded from its facts.
type State struct {
	ID     string `json:"id"`               // ID is the id of the schedule.
	Status Status `json:"status"`           // Status is its status; Reason says why it is paused or done.
	Reason string `json:"reason,omitempty"` // Reason is shown to people.
	Spec
	Digest  string    `json:"digest"`            // Digest is the digest of the spec.
	By      string    `json:"by,omitempty"`      // By is who created it.
	Created time.Time `json:"created"`           // Created is when it was created.
	Next    time.Time `json:"next,omitzero"`     // Next is the next due time, zero unless Active.
	Last    time.Time `json:"last,omitzero"`     // Last is the latest due time that has passed.
	Runs    int       `json:"runs"`              // Runs counts the runs at due times.
	Skipped int       `json:"skipped,omitempty"` // Skipped counts the due times without a run.
	// Failures counts the failed runs since the last successful one or the last resume.
	Failures int `json:"failures,omitempty"`
	// Recent lists the latest runs, oldest first: all that have not ended, and at most MaxRecent that have.
	Recent []Run `json:"recent,omitempty"`
	// Seq is the sequence of the last fact in this state, and Facts the number of facts since they were condensed.
	Seq   uint64 `json:"seq"`
	Facts int    `json:"facts,omitempty"`
	// Blocked says why this version does not handle the schedule: it has a fact that this version does not understand.
	Blocked string `json:"blocked,omitempty"`
}

// MaxRecent is how many ended runs are kept.
const MaxRecent = 50

// RunStatus is the status of a run: one of those below, or the final status of its job.
type RunStatus string

// The statuses of a run whose job has not ended.
const (
	RunWaiting  RunStatus = "waiting"  // It waits for the end of another run.
	RunStarting RunStatus = "starting" // Its job is being submitted.
	RunRunning  RunStatus = "running"  // Its job is running.
	RunSkipped  RunStatus = "skipped"  // There is no job; Reason says why.
	RunRefused  RunStatus = "refused"  // Its job was not admitted; Error says why.
)

// Over reports whether the run has ended.
func (s RunStatus) Over() bool {
	return s != RunWaiting && s != RunStarting && s != RunRunning
}

// Run is one run of a schedule.
type Run struct {
	Key       string    `json:"run"`                 // Key identifies it: its due time, or the trigger.
	Due       time.Time `json:"due"`                 // Due is the due time of the run.
	JobID     string    `json:"job_id"`              // JobID is the id of its job.
	Status    RunStatus `json:"status"`              // Status is how far the run is.
	Triggered bool      `json:"triggered,omitempty"` // Triggered is true if a person asked for it.
	Reason    string    `json:"reason,omitempty"`    // Reason says why it was skipped.
	// Skipped counts the missed due times before it that have no run of their own.
	Skipped int           `json:"skipped,omitempty"`
	Started time.Time     `json:"started,omitzero"` // Started is when its job was admitted.
	Ended   time.Time     `json:"ended,omitzero"`   // Ended is when its job ended.
	Error   *events.Fault `json:"error,omitempty"`  // Error says why it is not FINISHED.
	// Result is the job's result, if it is small. The job has it in any case.
	Result json.RawMessage `json:"result,omitempty"`
	// DurationMS is the duration of its job.
	DurationMS int64 `json:"duration_ms,omitempty"`
	events.Spent
	// Replaced is true while the run is being stopped in favour of a later one. Doubted is true if the run was still
	// running at a due time: then it is checked whether its job still exists.
	Replaced bool `json:"replaced,omitempty"`
	Doubted  bool `json:"doubted,omitempty"`
	// Patient is true for a run that may start at any time: it was triggered, had to wait, or makes up for missed due
	// times.
	Patient bool `json:"patient,omitempty"`
}
