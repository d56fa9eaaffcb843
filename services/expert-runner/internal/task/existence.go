package task

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// DedupeWindow is how long the bus drops repeats of work. Older or repeated work must be checked against the job's state first.
const DedupeWindow = 2 * time.Minute

// standing is the part of the saved state that says whether a run is open.
type standing struct {
	Status  events.Status `json:"status"`
	SubJobs []struct {
		ID     string        `json:"id"`
		Status events.Status `json:"status"`
		Run    int           `json:"run"`
		Open   bool          `json:"open"`
	} `json:"subjobs"`
}

// Open says whether the run is open according to the job's saved state. state is nil if the job has none; age is the age of the
// work message. It returns Claim to continue, Drop for work that is no longer needed, or Wait if the state is older than the work:
// work is published before its state is saved.
func Open(o *Order, state []byte, age time.Duration) (run.Action, string) {
	planning, inquiry := o.Inquiry()
	if state == nil {
		switch {
		case age >= DedupeWindow:
			return run.Drop, "the job is gone"
		case inquiry:
			return run.Claim, ""
		}
		return run.Wait, "the job's state is not saved yet"
	}
	var s standing
	if json.Unmarshal(state, &s) != nil {
		return run.Claim, "the job's state is not for this version"
	}
	if inquiry {
		return s.asks(planning, age)
	}
	ended := s.Status.Terminal()
	if ended && age >= DedupeWindow {
		return run.Drop, "the job is " + string(s.Status)
	}
	for i := range s.SubJobs {
		line := &s.SubJobs[i]
		switch {
		case line.ID != o.SubJob:
		case line.Run > o.Run:
			return run.Drop, "a later run is open"
		case line.Run < o.Run && age < DedupeWindow:
			return run.Wait, "the job's state is behind the work"
		case line.Run < o.Run:
			return run.Claim, "the job's state is behind the work"
		case !line.Open || ended:
			return run.Drop, "the run is over, the SubJob is " + string(line.Status)
		default:
			return run.Claim, ""
		}
	}
	if ended {
		// A recovery may follow. If the work were dropped within the window, it could not be published again.
		return run.Wait, "the job is " + string(s.Status) + ", or its state is behind the work"
	}
	// Planning, finalising, or a state in several keys: the fence in the journal decides.
	return run.Claim, ""
}

// asks says whether the planning run that asked is still open: after a stop the answer is not needed, and a later run asks again.
func (s *standing) asks(planning int, age time.Duration) (run.Action, string) {
	ended := s.Status.Terminal()
	for i := range s.SubJobs {
		line := &s.SubJobs[i]
		if line.ID == events.PlanID && (line.Run > planning || line.Run == planning && (ended || !line.Open)) {
			return run.Drop, "the planning run that asked is over"
		}
	}
	switch {
	case ended && age >= DedupeWindow:
		return run.Drop, "the job is " + string(s.Status)
	case ended:
		return run.Wait, "the job is " + string(s.Status) + ", or its state is behind the work"
	}
	return run.Claim, ""
}
