package recur

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// Label is the key of the label that marks the jobs of a schedule; its value is the schedule's id.
const Label = schedule.Label

// Given is the input "previous" of a run, about the run before it.
type Given struct {
	JobID string    `json:"job_id"` // JobID is the id of its job.
	Due   time.Time `json:"due"`    // Due is its due time; Ended is when its job ended.
	Ended time.Time `json:"ended"`
	// Result is its job's result, left out if it is large or deleted.
	Result json.RawMessage `json:"result,omitempty"`
}

// Before returns the run that the input of another run describes: the latest finished one before it. It is nil if there is
// none, or if the schedule does not pass results on.
func (p *Plan) Before(key string) *schedule.Run {
	var last *schedule.Run
	for i := range p.Recent {
		switch r := &p.Recent[i]; {
		case !p.Previous || r.Key == key:
			return last
		case r.Status == finished:
			last = r
		}
	}
	return nil
}

// finished is the status of a run with a result.
const finished = schedule.RunStatus(events.Finished)

// Job returns the request of a run's job. result is that of the run Before it, if the schedule has not stored it. The error
// says that result is not JSON.
func (p *Plan) Job(key string, result json.RawMessage) (events.Request, error) {
	r := p.Request
	r.ID = schedule.JobID(p.ID, key)
	labels := map[string]string{}
	maps.Copy(labels, r.Labels)
	labels[Label] = p.ID
	r.Labels = labels
	if !p.Previous {
		return r, nil
	}
	var given *Given
	if before := p.Before(key); before != nil {
		given = &Given{JobID: before.JobID, Due: before.Due, Ended: before.Ended, Result: before.Result}
		if len(given.Result) == 0 {
			given.Result = result
		}
	}
	text, err := json.Marshal(given)
	if err != nil {
		return r, fmt.Errorf("tell of run %s: %w", given.JobID, err)
	}
	inputs := map[string]json.RawMessage{}
	maps.Copy(inputs, r.Inputs)
	inputs[schedule.PreviousInput] = text
	r.Inputs = inputs
	return r, nil
}

// Unattend makes the request of a new schedule unattended, unless it says whether, or how long, a person can answer.
func Unattend(r *events.Request) {
	reviewed := r.AutoAccept != nil && !*r.AutoAccept
	if r.Unattended == nil && r.Limits.Answer == nil && !reviewed {
		r.Unattended = new(true)
	}
}

// Outcome returns what a run keeps of its job's end.
func Outcome(e *events.JobEnded) *schedule.End {
	end := &schedule.End{Status: e.Status, Error: e.Error, DurationMS: e.DurationMS, Spent: e.Spent}
	switch {
	case e.Status == events.Finished && len(e.Result) == 0 && e.ResultRef == nil:
		end.Result = json.RawMessage("null")
	case len(e.Result) <= schedule.MaxResult:
		end.Result = e.Result
	}
	return end
}
