package schedule

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// The kinds of facts of a schedule.
const (
	Created   events.Kind = "schedule.created"   // A schedule was created.
	Paused    events.Kind = "schedule.paused"    // A request to pause: no further run until it is resumed.
	Resumed   events.Kind = "schedule.resumed"   // A request to resume.
	Triggered events.Kind = "schedule.triggered" // A request for a run now.
	Deleted   events.Kind = "schedule.deleted"   // A request to delete the schedule; its jobs stay.
	Due       events.Kind = "schedule.due"       // The timer of a due time fired.
	Late      events.Kind = "schedule.late"      // A run could not start in time.
	Started   events.Kind = "schedule.started"   // The job of a run was admitted.
	Ended     events.Kind = "schedule.ended"     // The job of a run ended, was rejected or was deleted.
	Condensed events.Kind = "schedule.condensed" // The state of the schedule; earlier facts are deleted.
)

// Definition describes a kind.
type Definition struct {
	Kind events.Kind // Kind is the name of the kind.
	New  func() any  // New returns an empty payload to decode into.
	// Control facts are requests of people; they share the single subject ….control of their schedule. Run facts have the
	// key of a run as the last token of their subject. All others have their verb as the last token.
	Control, Run bool
	Doc          string // Doc is one sentence for the generated documentation.
}

// Definitions lists every kind, in the order of the documentation.
func Definitions() []Definition {
	return []Definition{
		{Kind: Created, New: payload[Creation], Doc: "A schedule was made."},
		{Kind: Paused, New: payload[Word], Control: true, Doc: "A request to hold further runs."},
		{Kind: Resumed, New: payload[Word], Control: true, Doc: "A request to resume a paused schedule."},
		{Kind: Triggered, New: payload[Word], Control: true, Doc: "A request for a run now."},
		{Kind: Deleted, New: payload[Word], Control: true, Doc: "A request to remove the schedule; its jobs stay."},
		{Kind: Due, New: payload[Moved], Run: true, Doc: "The timer of a moment fired."},
		{Kind: Late, New: payload[Moved], Run: true, Doc: "The run of a moment could not begin in time."},
		{Kind: Started, New: payload[Moved], Run: true, Doc: "The job of a run was admitted."},
		{Kind: Ended, New: payload[End], Run: true, Doc: "The job of a run ended, was refused or is gone."},
		{Kind: Condensed, New: payload[State], Doc: "How the schedule stands; what came before is no longer kept."},
	}
}

func payload[T any]() any { return new(T) }

// Define returns the definition of a kind; ok is false if this version does not know it.
func Define(k events.Kind) (d Definition, ok bool) {
	for _, d := range Definitions() {
		if d.Kind == k {
			return d, true
		}
	}
	return d, false
}

// Creation is the payload of Created.
type Creation struct {
	Spec
	// Digest is the SHA-256 of the spec: the same id with another digest is another schedule.
	Digest string `json:"digest"`
	By     string `json:"by,omitempty"` // By is who created it: a person, or the job whose step asked for it.
}

// Word is the payload of requests of people.
type Word struct {
	Reason string `json:"reason,omitempty"` // Reason is shown to people.
	By     string `json:"by,omitempty"`     // By is who asked.
}

// Moved is the payload of Due, Late and Started.
type Moved struct {
	Due time.Time `json:"due"` // Due is the due time of the run.
}

// End is the payload of Ended.
type End struct {
	Status events.Status `json:"status"` // Status is FINISHED, FAILED or STOPPED.
	// Refused is true if the job was not admitted; Error says why.
	Refused bool            `json:"refused,omitempty"`
	Error   *events.Fault   `json:"error,omitempty"`  // Error says why it is not FINISHED.
	Result  json.RawMessage `json:"result,omitempty"` // Result is the job's result, if it has at most MaxResult bytes, null for none. The job has it in any case.
	// DurationMS is the time from the job's admission to its end.
	DurationMS int64 `json:"duration_ms,omitempty"`
	events.Spent
}

// MaxResult is the largest result that is stored with a run, in bytes.
const MaxResult = 2 << 10
