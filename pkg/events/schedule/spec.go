package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// MaxID is the longest id of a schedule, in bytes: the ids of its jobs add a moment to it.
const MaxID = events.MaxID - len("-20060102T150405Z")

// Pool takes the work of steps that recur, which is to make their schedules. It is served by the scheduler.
const Pool = "jobgraph-schedules"

// Overlap says what happens when a moment comes while a run is still going.
type Overlap string

// The ways to meet an overlap.
const (
	OverlapSkip    Overlap = "skip"    // The moment passes without a run.
	OverlapQueue   Overlap = "queue"   // The run waits for the one that is going.
	OverlapReplace Overlap = "replace" // The run that is going is stopped; then the new one begins.
)

// Missed says what happens to moments that passed while no scheduler could act, for a minute or longer.
type Missed string

// The ways to meet missed moments.
const (
	MissedOne  Missed = "one"  // One run for all of them, as that of the last.
	MissedSkip Missed = "skip" // None.
	MissedAll  Missed = "all"  // Each of them, one behind the other; the latest MaxWaiting if there are more.
)

// MaxWaiting is how many runs of one schedule wait for another at most, PreviousInput the input in which a run is told of another.
const (
	MaxWaiting    = 100
	PreviousInput = "previous"
)

// Spec is what a schedule says: when, what, and how to meet trouble.
type Spec struct {
	When    events.Schedule `json:"schedule"`           // When says at which moments.
	Overlap Overlap         `json:"overlap,omitempty"`  // Overlap is OverlapSkip when empty.
	Missed  Missed          `json:"missed,omitempty"`   // Missed is MissedOne when empty.
	Jitter  events.Duration `json:"jitter,omitempty"`   // Jitter delays each run by a part of it that depends on schedule and moment alone.
	Until   time.Time       `json:"until,omitzero"`     // Until is the last moment that may come due; there is no end when it is zero.
	MaxRuns int             `json:"max_runs,omitempty"` // MaxRuns ends the schedule after so many runs; 0 means no such end. What is triggered by hand does not count.
	// MaxFailures pauses the schedule after so many failed runs in a row; 0 lets failures be.
	MaxFailures int            `json:"max_failures,omitempty"`
	Previous    bool           `json:"previous,omitempty"` // Previous tells each run, in its input PreviousInput, of the latest before it that has finished.
	Request     events.Request `json:"request"`            // Request is the job of each run, without id and schedule.
}

// maxJitter keeps a delayed run near its moment.
const maxJitter = 24 * time.Hour

// Validate fills in what is left out and reports every fault but those of the moments themselves, which need the time zones.
func (s *Spec) Validate() events.Faults {
	var faults events.Faults
	bad := func(field, message, hint string) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: field, Message: message, Hint: hint})
	}
	if s.Overlap == "" {
		s.Overlap = OverlapSkip
	}
	if s.Missed == "" {
		s.Missed = MissedOne
	}
	if !slices.Contains([]Overlap{OverlapSkip, OverlapQueue, OverlapReplace}, s.Overlap) {
		bad("overlap", fmt.Sprintf("unknown policy %.40q", s.Overlap), "use skip, queue or replace")
	}
	if !slices.Contains([]Missed{MissedOne, MissedSkip, MissedAll}, s.Missed) {
		bad("missed", fmt.Sprintf("unknown policy %.40q", s.Missed), "use one, skip or all")
	}
	if s.Jitter < 0 || s.Jitter.Std() > maxJitter {
		bad("jitter", fmt.Sprintf("%s is outside 0 to %s", s.Jitter.Std(), maxJitter), "")
	}
	if s.MaxRuns < 0 {
		bad("max_runs", fmt.Sprintf("%d is below 0", s.MaxRuns), "leave it out for no end")
	}
	if s.MaxFailures < 0 {
		bad("max_failures", fmt.Sprintf("%d is below 0", s.MaxFailures), "leave it out to let failures be")
	}
	return append(faults, s.validateRequest()...)
}

// validateRequest reports what is wrong with the job of each run.
func (s *Spec) validateRequest() events.Faults {
	var faults events.Faults
	for _, f := range s.Request.Validate() {
		f.Field = "request." + f.Field
		faults = append(faults, f)
	}
	for _, given := range []struct {
		field, hint string
		is          bool
	}{
		{"id", "each run gets an id of its own; give the schedule the id", s.Request.ID != ""},
		{"schedule", "say when beside the request, not in it", s.Request.Schedule != nil},
		{"plan_ref", "send the plan itself: references are kept with one job", s.Request.PlanRef != nil},
		{"inputs_ref", "send the inputs themselves: references are kept with one job", s.Request.InputsRef != nil},
		{"attachments", "hand their places over as inputs: attachments are kept with one job", len(s.Request.Attachments) > 0},
		{"inputs." + PreviousInput, "name it otherwise, or leave previous out", s.Previous && s.Request.Inputs[PreviousInput] != nil},
	} {
		if given.is {
			faults = append(faults, events.Fault{
				Code: events.CodeInvalid, Field: "request." + given.field, Message: "does not go together with a schedule", Hint: given.hint,
			})
		}
	}
	return faults
}

// ValidID reports whether a schedule may bear this id: [A-Za-z0-9_-]{1,47}.
func ValidID(id string) bool { return len(id) <= MaxID && events.ValidID(id) }

// keyForm is the form of a moment in keys of runs and ids of jobs.
const keyForm = "20060102T150405Z"

// Key names the run of a moment: "20261122T014500Z".
func Key(due time.Time) string { return due.UTC().Format(keyForm) }

// TriggerKey names the run that the fact with a sequence asks for: "t42".
func TriggerKey(seq uint64) string { return fmt.Sprintf("t%d", seq) }

// Moment reads the key of a moment; ok is false for any other key.
func Moment(key string) (due time.Time, ok bool) {
	due, err := time.Parse(keyForm, key)
	return due, err == nil && Key(due) == key
}

// JobID is the id of a run's job: the same run is the same job.
func JobID(id, key string) string { return id + "-" + key }

// RunOf reads the id of a job of a schedule; ok is false for what can be none.
func RunOf(job string) (id, key string, ok bool) {
	cut := strings.LastIndexByte(job, '-')
	if cut < 1 {
		return "", "", false
	}
	id, key = job[:cut], job[cut+1:]
	if _, moment := Moment(key); !moment && !triggered(key) {
		return "", "", false
	}
	return id, key, ValidID(id)
}

func triggered(key string) bool {
	digits, ok := strings.CutPrefix(key, "t")
	return ok && digits != "" && digits[0] != '0' && strings.Trim(digits, "0123456789") == ""
}
