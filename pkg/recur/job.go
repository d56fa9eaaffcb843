package recur

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// Label is the label by which the jobs of a schedule are found: "schedule": its id.
const Label = "schedule"

// Given is the input "previous" of a run: what is told of the one before it.
type Given struct {
	JobID string    `json:"job_id"` // JobID is its job's.
	Due   time.Time `json:"due"`    // Due is its moment, Ended when its job ended.
	Ended time.Time `json:"ended"`
	// Result is its job's; it is left out when it is large or gone.
	Result json.RawMessage `json:"result,omitempty"`
}

// Before is the run of which another one is told: the latest before it that has finished. It is nil when there is none, or the
// schedule tells of none.
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

// finished is the status of a run that has a result.
const finished = schedule.RunStatus(events.Finished)

// Job is what is asked for in a run. The result is that of the run Before it, for one that the schedule itself has not kept. The
// error is about a result that is no JSON.
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

// Outcome is what is kept of the end of a job with its run.
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
