package person

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// Expert asks a person. It is safe for concurrent use.
type Expert struct {
	config Config
	form   *schema.Schema
	answer json.RawMessage // The default.
}

// New checks the configuration. The error contains advice.
func New(c Config) (*Expert, error) {
	form, answer, err := c.check()
	if err != nil {
		return nil, err
	}
	return &Expert{config: c, form: form, answer: answer}, nil
}

// Run implements expert.Runner: it asks, or reads the answer to the previous run's request.
func (x *Expert) Run(_ context.Context, t *expert.Task) task.Ending {
	w := t.Work
	form, raw, err := x.shape(w)
	if err != nil {
		return task.Failure(events.CodeInvalid, "the SubJob's output_schema cannot be asked for", err.Error(), "correct the plan")
	}
	closed, answered := w.Answers[request(w, w.ResumeOf)]
	if !answered {
		return x.ask(t, raw, nil)
	}
	if reason, rejected := refused(closed.Answer, raw); rejected {
		return rejection(closed.By, reason)
	}
	if form != nil {
		if wrong := form.Misfits(closed.Answer); len(wrong) > 0 {
			return x.ask(t, raw, wrong)
		}
	}
	return task.Ending{Report: &events.SubJobReported{Outcome: events.Success, Output: closed.Answer}}
}

// shape returns the form of the answer: the SubJob's, else the card's.
func (x *Expert) shape(w *events.Work) (*schema.Schema, json.RawMessage, error) {
	if len(w.Spec.OutputSchema) == 0 {
		return x.form, x.config.Form, nil
	}
	form, err := schema.Read(w.Spec.OutputSchema)
	return form, w.Spec.OutputSchema, err
}

// request returns the id of a run's request. It contains the attempt, so that an earlier rejection does not answer it.
func request(w *events.Work, run int) string {
	mark := "form"
	if w.Attempt > 1 {
		mark += strconv.Itoa(w.Attempt)
	}
	return jobrun.RequestID(w.SubJob, run, mark)
}

func (x *Expert) ask(t *expert.Task, form json.RawMessage, wrong []string) task.Ending {
	w := t.Work
	in := &events.InputRequested{
		Request: request(w, w.Run), Kind: events.InputClarification, Prompt: prompt(x.config.Intro, w, t.Brief(), wrong), Schema: form,
		User: x.config.User, ExpiresIn: events.Duration(x.config.Expires), Default: x.answer,
	}
	if form != nil {
		in.Kind = events.InputForm
	}
	if in.User == "" {
		in.User = w.User
	}
	return task.Ending{Park: in}
}

// refused parses a rejection: {"approved":false,"reason":…} and nothing else. If the form itself has a field approved, the answer
// stays unchanged.
func refused(answer, form json.RawMessage) (reason string, ok bool) {
	if _, asked := task.At(form, "properties.approved"); asked {
		return "", false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(answer, &fields) != nil || string(fields["approved"]) != "false" {
		return "", false
	}
	for name := range fields { // any order: one unknown key decides.
		if name != "approved" && name != "reason" {
			return "", false
		}
	}
	_ = json.Unmarshal(fields["reason"], &reason) // A reason that is not a string is ignored.
	return reason, true
}

func rejection(by, reason string) task.Ending {
	if reason == "" {
		reason = "no reason was given"
	}
	who := "the person who was asked"
	if by != "" {
		who = by
	}
	fault := &events.Fault{Code: events.CodeRejected, Message: who + " rejected the work", Cause: reason, Hint: "change what is asked, or ask another person"}
	return task.Ending{Report: &events.SubJobReported{Outcome: events.ExecutionError, Error: fault, Lesson: reason}}
}
