package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// MaxID is the longest id of a schedule, in bytes: the ids of its jobs append a time to it.
const MaxID = events.MaxID - len("-20060102T150405Z")

// Pool is the pool of recurring steps, whose work is to create schedules. The scheduler serves it.
const Pool = "jobgraph-schedules"

// Overlap says what happens if a run is due while another one is still running.
type Overlap string

// The ways to handle an overlap.
const (
	OverlapSkip    Overlap = "skip"    // The due run is skipped.
	OverlapQueue   Overlap = "queue"   // The due run waits for the end of the other.
	OverlapReplace Overlap = "replace" // The running one is stopped; then the due run starts.
)

// Missed says what happens to due times that passed while no scheduler could act, for a minute or longer.
type Missed string

// The ways to handle missed due times.
const (
	MissedOne  Missed = "one"  // One run for all of them, with the due time of the last.
	MissedSkip Missed = "skip" // Missed due times get no run.
	MissedAll  Missed = "all"  // A run for each, one after the other; only the latest MaxWaiting if there are more.
)

// MaxWaiting limits the waiting runs of a schedule. PreviousInput is the input about the previous run; Label is the label of its jobs.
const (
	Label         = "schedule"
	MaxWaiting    = 100
	PreviousInput = "previous"
)

// Spec is the specification of a schedule: when, what, and how to handle problems.
type Spec struct {
	When    events.Schedule `json:"schedule"`           // When says at which times runs are due.
	Overlap Overlap         `json:"overlap,omitempty"`  // Overlap is OverlapSkip if empty.
	Missed  Missed          `json:"missed,omitempty"`   // Missed is MissedOne if empty.
	Jitter  events.Duration `json:"jitter,omitempty"`   // Jitter delays each run by a fraction of it that depends only on schedule and due time.
	Until   time.Time       `json:"until,omitzero"`     // Until is the last possible due time; zero means no end.
	MaxRuns int             `json:"max_runs,omitempty"` // MaxRuns ends the schedule after this many runs; 0 means no such limit. Runs triggered by hand do not count.
	// MaxFailures pauses the schedule after so many failed runs in a row; 0 never pauses it.
	MaxFailures int            `json:"max_failures,omitempty"`
	Previous    bool           `json:"previous,omitempty"` // Previous passes each run the latest finished run before it, in its input PreviousInput.
	Request     events.Request `json:"request"`            // Request is the job of each run, without id and schedule.
}

// maxJitter keeps a delayed run near its due time.
const maxJitter = 24 * time.Hour

// Validate sets defaults and reports all faults except those of the due times, which need time zones.
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

// validateRequest reports the faults of the request.
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

// ValidID reports whether a schedule may have this id: [A-Za-z0-9_-]{1,47}.
func ValidID(id string) bool { return len(id) <= MaxID && events.ValidID(id) }

// keyForm is the format of due times in keys of runs and ids of jobs.
const keyForm = "20060102T150405Z"

// Key returns the key of the run at a due time: "20261122T014500Z".
func Key(due time.Time) string { return due.UTC().Format(keyForm) }

// TriggerKey returns the key of the run that a trigger fact with this sequence asks for: "t42".
func TriggerKey(seq uint64) string { return fmt.Sprintf("t%d", seq) }

// Moment parses the key of a due time; ok is false for any other key.
func Moment(key string) (due time.Time, ok bool) {
	due, err := time.Parse(keyForm, key)
	return due, err == nil && Key(due) == key
}

// JobID returns the id of a run's job: the same run is always the same job.
func JobID(id, key string) string { return id + "-" + key }

// RunOf parses the job id of a scheduled run; ok is false if it cannot be one.
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
