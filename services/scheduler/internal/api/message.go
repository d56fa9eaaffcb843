package api

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/consent"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/intake"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/session"
)

// openQuestion is an open question of a session.
type openQuestion struct {
	job *graph.Job
	in  *graph.InputState
}

// Answer implements intake.Questions.
func (v *API) Answer(ctx context.Context, r *events.Request) (intake.Taken, error) {
	record, err := v.Sessions.Get(ctx, r.Session)
	var fault *events.Fault
	switch {
	case errors.As(err, &fault) && fault.Code == events.CodeNotFound:
		return intake.Taken{}, nil
	case err != nil:
		return intake.Taken{}, err
	}
	if err := record.Permits(r.User); err != nil || record.Has(r.ID) {
		return intake.Taken{}, nil // Admission refuses it, or has admitted it before.
	}
	if before := record.Answer(r.ID); before != nil {
		return v.again(ctx, r, before)
	}
	q, err := v.newest(ctx, record, r.User)
	if err != nil || q == nil {
		return intake.Taken{}, err
	}
	taken := intake.Taken{Job: q.job.ID, Request: q.in.Request}
	answer, reason, err := v.fits(ctx, q, r)
	if err != nil || reason != "" {
		taken.Reason = reason
		return taken, err
	}
	note := session.Answer{Message: r.ID, Job: taken.Job, Request: taken.Request, Answer: answer}
	if err := v.Sessions.NoteAnswer(ctx, r.Session, note); err != nil {
		return taken, err
	}
	return v.close(ctx, r, &note)
}

// newest returns the newest open question of a session that a person may answer; nil if there is none.
func (v *API) newest(ctx context.Context, record *session.Record, user string) (*openQuestion, error) {
	var newest *openQuestion
	for _, line := range record.Open() {
		job, err := v.fold(ctx, line.ID)
		var fault *events.Fault
		if errors.As(err, &fault) {
			continue // The job is not in the log yet, or no longer.
		}
		if err != nil {
			return nil, err
		}
		for _, in := range job.Inputs {
			mine := (line.SubJob == "" || line.SubJob == in.SubJob) && (in.User == "" || in.User == user)
			if mine && in.Kind != events.InputTimer && in.Closing == "" && (newest == nil || in.Seq > newest.in.Seq) {
				newest = &openQuestion{job, in}
			}
		}
	}
	return newest, nil
}

// close answers the question with the noted answer. If the question has been answered differently in the meantime, the request
// becomes a job of its own.
func (v *API) close(ctx context.Context, r *events.Request, note *session.Answer) (intake.Taken, error) {
	taken := intake.Taken{Job: note.Job, Request: note.Request}
	closing := &verb.Answer{Ref: verb.Ref{ID: note.Job}, Request: note.Request, Answer: note.Answer, By: r.User, Action: events.Answered}
	m, err := v.closing(closing)
	if err != nil {
		return taken, err
	}
	taken.Seq, err = v.bus.Publish(ctx, m, bus.ExpectNone())
	if !errors.Is(err, bus.ErrConflict) {
		return taken, err
	}
	return v.again(ctx, r, note)
}

// again finds out whether the noted answer has closed a question.
func (v *API) again(ctx context.Context, r *events.Request, note *session.Answer) (intake.Taken, error) {
	taken := intake.Taken{Job: note.Job, Request: note.Request}
	closing := &verb.Answer{Ref: verb.Ref{ID: note.Job}, Request: note.Request, Answer: note.Answer, By: r.User, Action: events.Answered}
	notMine := &events.Fault{Code: events.CodeConflict, Message: "the question was closed meanwhile"}
	said, err := v.repeated(ctx, closing, notMine)
	if errors.Is(err, notMine) {
		m, err := v.closing(closing)
		if err != nil {
			return taken, err
		}
		taken.Seq, err = v.bus.Publish(ctx, m, bus.ExpectNone()) // The scheduler died after noting the answer, before publishing it.
		if errors.Is(err, bus.ErrConflict) {
			taken.Reason, err = notMine.Message, nil
		}
		return taken, err
	}
	if was, ok := said.(verb.Told); ok {
		taken.Seq, taken.Duplicate = was.Seq, true
	}
	return taken, err
}

// fits returns the answer that a message means, or the reason why it is not an answer.
func (v *API) fits(ctx context.Context, q *openQuestion, r *events.Request) (answer json.RawMessage, reason string, err error) {
	e, err := v.bus.Log().EventAt(ctx, q.in.Seq)
	if err != nil {
		return nil, "", err
	}
	asked, ok := e.Data.(*events.InputRequested)
	if !ok {
		return nil, "the question cannot be read", nil
	}
	requested, err := v.bus.Log().LastOf(ctx, q.job.ID, events.KindJobRequested)
	if err != nil {
		return nil, "", err
	}
	if first, ok := requested.Data.(*events.JobRequested); ok {
		switch {
		case r.Expert != "" && !strings.EqualFold(r.Expert, first.Request.Expert):
			return nil, "it names another expert than the job that asks", nil
		case r.Thread != "" && first.Request.Thread != "" && r.Thread != first.Request.Thread:
			return nil, "it belongs to another thread", nil
		}
	}
	if len(r.Goal) > maxMessage {
		return nil, "it is too long for an answer", nil
	}
	answer, reason = meaning(q.in, asked, strings.TrimSpace(r.Goal))
	if reason == "" {
		if err := v.mayAnswer(ctx, q.in, &verb.Answer{Ref: verb.Ref{ID: q.job.ID}, Request: q.in.Request, Answer: answer, By: r.User, Action: events.Answered}); err != nil {
			var fault *events.Fault
			if !errors.As(err, &fault) {
				return nil, "", err
			}
			reason = fault.Message
		}
	}
	return answer, reason, nil
}

// maxMessage limits a message that is treated as an answer, in bytes.
const maxMessage = 8 << 10

// meaning turns a text into an answer to a question.
func meaning(in *graph.InputState, asked *events.InputRequested, text string) (answer json.RawMessage, reason string) {
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, "it cannot be written as JSON"
	}
	planner := in.SubJob == events.PlanID
	switch {
	case in.Kind == events.InputForm:
		if json.Valid([]byte(text)) && unfit(asked.Schema, json.RawMessage(text)) == nil {
			return json.RawMessage(text), ""
		}
		if unfit(asked.Schema, quoted) == nil {
			return quoted, ""
		}
		return nil, "it does not fit the form of the question"
	case planner && in.Kind != events.InputClarification:
		if asked.Open || consent.Of(text) != consent.Undecided || edits(text) || strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
			return planned(text, quoted), ""
		}
		return nil, "it neither accepts, edits nor rejects what is shown"
	case planner:
		return quoted, ""
	case in.Kind == events.InputApproval:
		return approval(text)
	case len(asked.Options) > 0:
		at := slices.IndexFunc(asked.Options, func(option string) bool { return strings.EqualFold(option, strings.Trim(text, " .!。！\"'")) })
		if at < 0 {
			return nil, "it is not one of the choices"
		}
		choice, err := json.Marshal(asked.Options[at])
		if err != nil {
			return nil, "it is not one of the choices"
		}
		return choice, ""
	}
	return quoted, ""
}

// approval turns a text into the decision about an action, with the reason of a rejection.
func approval(text string) (answer json.RawMessage, reason string) {
	d, why := consent.Because(text)
	if d == consent.Undecided {
		return nil, "it neither approves nor rejects"
	}
	answer, err := json.Marshal(struct {
		Approved bool   `json:"approved"`
		Reason   string `json:"reason,omitempty"`
	}{d == consent.Accepted, why})
	if err != nil {
		return nil, "it cannot be written as JSON"
	}
	return answer, ""
}

// edits reports whether a text asks for a change to a plan.
func edits(text string) bool {
	text = strings.TrimLeft(strings.ToLower(text), "[ ")
	return strings.HasPrefix(text, "edit") || strings.HasPrefix(text, "修改")
}

// planned is an answer for a planner: an object unchanged, a decision in one word, anything else as text.
func planned(text string, quoted json.RawMessage) json.RawMessage {
	switch {
	case strings.HasPrefix(text, "{"):
		return json.RawMessage(text)
	case consent.Of(text) == consent.Accepted:
		return json.RawMessage(`"accept"`)
	case consent.Of(text) == consent.Rejected:
		return json.RawMessage(`"reject"`)
	}
	return quoted
}
