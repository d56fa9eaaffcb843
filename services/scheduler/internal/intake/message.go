package intake

import (
	"context"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// Questions treats messages to sessions as answers to open questions.
type Questions interface {
	// Answer uses a request as the answer to the newest open question of its session that is for its user. taken.Request is empty
	// if the request is a job of its own; if a question is open, taken.Reason says why. A request with the same id is answered
	// once. Errors: events.Faults for a session of another user, and the bus's.
	Answer(ctx context.Context, r *events.Request) (taken Taken, err error)
}

// Taken is the question that a request has answered, or why it has not.
type Taken struct {
	// Job is the job that asks and, once answered, continues; Request is the question that was answered.
	Job     string `json:"job_id"`
	Request string `json:"request"`
	// Reason says why the question was not answered.
	Reason string `json:"reason,omitempty"`
	// Seq is the event of the answer; Duplicate is true if it was given before.
	Seq       uint64 `json:"-"`
	Duplicate bool   `json:"-"`
}

// answers finds out whether a request answers a question. done is true if it does, or if it is refused.
func (a *Admitter) answers(ctx context.Context, r *events.Request) (admission Admission, done bool, err error) {
	if a.Questions == nil || r.Session == "" || !message(r) {
		return Admission{JobID: r.ID}, false, nil
	}
	taken, err := a.Questions.Answer(ctx, r)
	switch {
	case err != nil:
		return Admission{JobID: r.ID}, true, err
	case taken.Job == "":
		return Admission{JobID: r.ID}, false, nil
	case taken.Reason != "":
		return Admission{JobID: r.ID, Unanswered: &taken}, false, nil
	}
	return Admission{JobID: taken.Job, Answered: taken.Request, Message: r.ID, Seq: taken.Seq, Duplicate: taken.Duplicate}, true, nil
}

// message reports whether a request consists only of text, as an answer does. With anything more it is a job of its own.
func message(r *events.Request) bool {
	return !r.New && strings.TrimSpace(r.Goal) != "" && r.Context == "" && len(r.Plan) == 0 && r.PlanRef == nil && len(r.Inputs) == 0 &&
		r.InputsRef == nil && len(r.Attachments) == 0 && r.Schedule == nil && r.Labels[schedule.Label] == ""
}
