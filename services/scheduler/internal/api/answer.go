package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// answer closes a request for input. The broker admits one answer: repeating it gets the same reply, a different answer is a
// conflict.
func (v *API) answer(ctx context.Context, body []byte) (any, error) {
	var r verb.Answer
	if err := decode(body, &r); err != nil {
		return nil, err
	}
	if r.Action == "" {
		r.Action = events.Answered
	}
	job, err := v.fold(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	in, err := chooseInput(job, r.Request)
	if err != nil {
		return v.repeated(ctx, &r, err)
	}
	if err := v.mayAnswer(ctx, in, &r); err != nil {
		return nil, err
	}
	r.Request = in.Request
	m, err := v.closing(&r)
	if err != nil {
		return nil, err
	}
	seq, err := v.bus.Publish(ctx, m, bus.ExpectNone())
	if errors.Is(err, bus.ErrConflict) {
		return v.repeated(ctx, &r, &events.Fault{
			Code: events.CodeConflict, Field: "request", Message: "request " + in.Request + " is closed already, with another answer", Hint: "jobgraph inputs " + r.ID,
		})
	}
	return verb.Told{JobID: r.ID, Seq: seq, Accepted: err == nil}, err
}

// closing builds the event that records an answer and closes the request.
func (v *API) closing(r *verb.Answer) (events.Message, error) {
	return events.Encode(v.bus.Names(), events.Event{
		Kind: events.KindInputClosed, ID: run.FactID(r.ID, events.KindInputClosed, r.Request),
		Job: r.ID, Key: r.Request, Source: source, Data: &events.InputClosed{Action: r.Action, Answer: r.Answer, By: r.By},
	})
}

// repeated accepts a repeat of the answer that closed the request; anything else is refused.
func (v *API) repeated(ctx context.Context, r *verb.Answer, refusal error) (any, error) {
	if !events.ValidToken(r.Request) {
		return nil, refusal
	}
	m, err := v.closing(r)
	if err != nil {
		return nil, err
	}
	last, err := v.bus.Streams().LastOn(ctx, v.bus.Names().Log, m.Subject)
	if errors.Is(err, bus.ErrNotFound) {
		return nil, refusal
	}
	if err != nil {
		return nil, err
	}
	e, err := v.bus.Log().EventAt(ctx, last.Seq)
	if err != nil {
		return nil, err
	}
	was, ok := e.Data.(*events.InputClosed)
	if !ok || was.Action != r.Action || was.By != r.By || !sameJSON(was.Answer, r.Answer) {
		return nil, refusal
	}
	return verb.Told{JobID: r.ID, Seq: last.Seq, Accepted: true}, nil
}

// sameJSON compares two JSON values, ignoring white space.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return bytes.Equal(a, b) || json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// chooseInput finds the open request that an answer is for.
func chooseInput(job *graph.Job, request string) (*graph.InputState, error) {
	var open []string
	for _, in := range job.Inputs {
		if in.Request == request || request == "" && len(job.Inputs) == 1 {
			return in, nil
		}
		open = append(open, in.Request)
	}
	switch {
	case len(open) == 0:
		return nil, &events.Fault{Code: events.CodeNotFound, Field: "request", Message: "job " + job.ID + " asks for nothing", Hint: "jobgraph why " + job.ID}
	case request == "":
		return nil, &events.Fault{Code: events.CodeMissing, Field: "request", Message: "several requests are open", Hint: "choose one of " + strings.Join(open, ", ")}
	}
	return nil, &events.Fault{Code: events.CodeNotFound, Field: "request", Message: fmt.Sprintf("no request %.80q is open", request), Hint: "open: " + strings.Join(open, ", ")}
}

// unfit returns the fault of an answer that does not match its schema; nil if it matches, or if the schema cannot be read.
func unfit(form, answer json.RawMessage) error {
	s, err := schema.Read(form)
	if err != nil {
		return nil // The expert that asked handles the answer itself.
	}
	if misfits := s.Misfits(answer); len(misfits) > 0 {
		return &events.Fault{Code: events.CodeInvalid, Field: "answer", Message: "the answer does not fit its schema: " + strings.Join(misfits, "; "), Hint: "jobgraph inputs shows what is asked; the request is still open"}
	}
	return nil
}

// mayAnswer checks person, form and choice.
func (v *API) mayAnswer(ctx context.Context, in *graph.InputState, r *verb.Answer) error {
	if err := mayApprove(ctx, in.Kind); err != nil {
		return err
	}
	switch {
	case in.User != "" && r.By != in.User:
		return &events.Fault{Code: events.CodeNotPermitted, Field: "by", Message: fmt.Sprintf("request %s is for %s alone", in.Request, in.User), Hint: "answer as that user"}
	case r.Action == events.Cancelled:
		return nil
	case r.Action != events.Answered:
		return &events.Fault{Code: events.CodeInvalid, Field: "action", Message: fmt.Sprintf("unknown action %.40q", r.Action), Hint: "use answered or cancelled"}
	case len(r.Answer) == 0:
		return &events.Fault{Code: events.CodeMissing, Field: "answer", Message: "there is no answer", Hint: `send {"id":"…","request":"…","answer":…}`}
	case len(r.Answer) > events.MaxInline:
		return &events.Fault{Code: events.CodeTooLarge, Field: "answer", Message: fmt.Sprintf("the answer has %d bytes, at most %d", len(r.Answer), events.MaxInline), Hint: "store it and answer with its place"}
	}
	e, err := v.bus.Log().EventAt(ctx, in.Seq)
	if err != nil {
		return err
	}
	asked, ok := e.Data.(*events.InputRequested)
	if ok && in.Kind == events.InputForm {
		return unfit(asked.Schema, r.Answer)
	}
	var choice string
	planner := in.SubJob == events.PlanID && in.Kind != events.InputUnknown // The planner accepts more words than its options.
	if !ok || planner || len(asked.Options) == 0 || json.Unmarshal(r.Answer, &choice) != nil || slices.Contains(asked.Options, choice) {
		return nil
	}
	return &events.Fault{Code: events.CodeInvalid, Field: "answer", Message: fmt.Sprintf("%.80q is not one of the choices", choice), Hint: "choose one of " + strings.Join(asked.Options, ", ")}
}
