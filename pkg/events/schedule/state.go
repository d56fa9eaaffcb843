package schedule

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Status is how a schedule stands.
type Status string

// The statuses.
const (
	Active Status = "active" // A moment lies ahead.
	Rests  Status = "paused" // Nothing comes due until it is resumed.
	Done   Status = "done"   // No moment is left.
	Gone   Status = "deleted"
)

// State is a schedule as its facts tell.
type State struct {
	ID     string `json:"id"`               // ID is the schedule's.
	Status Status `json:"status"`           // Status is how it stands, Reason why it is paused or done.
	Reason string `json:"reason,omitempty"` // Reason is for people.
	Spec
	Digest  string    `json:"digest"`            // Digest is that of the spec.
	By      string    `json:"by,omitempty"`      // By is who made it.
	Created time.Time `json:"created"`           // Created is when.
	Next    time.Time `json:"next,omitzero"`     // Next is the moment that comes due next, zero unless Active.
	Last    time.Time `json:"last,omitzero"`     // Last is the latest moment that came due.
	Runs    int       `json:"runs"`              // Runs counts the runs that moments asked for.
	Skipped int       `json:"skipped,omitempty"` // Skipped counts the moments without a run.
	// Failures counts the failed runs since the last good one or the last resume.
	Failures int `json:"failures,omitempty"`
	// Recent are the latest runs, the oldest first: everything that is not over, and MaxRecent at most of what is.
	Recent []Run `json:"recent,omitempty"`
	// Seq is the fact up to which this is told, and Facts how many there were since they were condensed.
	Seq   uint64 `json:"seq"`
	Facts int    `json:"facts,omitempty"`
	// Blocked says why this version leaves the schedule alone: a fact that it does not understand.
	Blocked string `json:"blocked,omitempty"`
}

// MaxRecent is how many runs that are over are kept.
const MaxRecent = 50

// RunStatus is how a run stands: one of those below, or the status its job ended with.
type RunStatus string

// The statuses of a run whose job has not ended.
const (
	RunWaiting  RunStatus = "waiting"  // Another run goes on before it.
	RunStarting RunStatus = "starting" // Its job is being asked for.
	RunRunning  RunStatus = "running"  // Its job goes on.
	RunSkipped  RunStatus = "skipped"  // There is no job; Reason says why.
	RunRefused  RunStatus = "refused"  // Its job was not admitted; Error says why.
)

// Over reports whether nothing more will become of the run.
func (s RunStatus) Over() bool {
	return s != RunWaiting && s != RunStarting && s != RunRunning
}

// Run is one run of a schedule.
type Run struct {
	Key       string    `json:"run"`                 // Key names it: its moment, or the trigger.
	Due       time.Time `json:"due"`                 // Due is its moment.
	JobID     string    `json:"job_id"`              // JobID is its job's.
	Status    RunStatus `json:"status"`              // Status is how it stands.
	Triggered bool      `json:"triggered,omitempty"` // Triggered is true when a person asked for it.
	Reason    string    `json:"reason,omitempty"`    // Reason says why it was skipped.
	// Skipped counts the moments before it that were missed and have no run of their own.
	Skipped int           `json:"skipped,omitempty"`
	Started time.Time     `json:"started,omitzero"` // Started is when its job was admitted.
	Ended   time.Time     `json:"ended,omitzero"`   // Ended is when its job ended.
	Error   *events.Fault `json:"error,omitempty"`  // Error says why it is not FINISHED.
	// Result is what came of it, when it is small; the job has it in any case.
	Result json.RawMessage `json:"result,omitempty"`
	// DurationMS is how long its job took.
	DurationMS int64 `json:"duration_ms,omitempty"`
	events.Spent
	// Replaced is true when the run is being stopped in favour of a later one, Doubted when a moment found it going: whether
	// its job still exists is looked at then.
	Replaced bool `json:"replaced,omitempty"`
	Doubted  bool `json:"doubted,omitempty"`
	// Patient is true for a run that may begin at any time: it was triggered, had to wait, or makes up for missed moments.
	Patient bool `json:"patient,omitempty"`
}
