package route

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// answerer returns the function that answers a verb: verbs that read a log or return something other than JSON are answered here,
// all others by the service that has the verb.
func (g *Gateway) answerer(name string) func(c *call) error {
	own := map[string]func(c *call) error{
		"submit": submit, "answer": answer, "schedule.create": createSchedule, "get": get, "graph": graph, "timeline": timeline, "fork": fork,
		"events": eventsOf, "live": live, "wait": wait, "diff": diff, "sessions.conversation": conversation,
		"plan": planOf, "subjob": subjobOf, "brief": briefOf, "artifacts": artifacts, "artifact": artifactOf,
		"actions": actionsOf, "payload": payload, "export": export, "preview": preview, "render": rendering, "layout": layout, "me": me,
		"chat": chat, "responses": respond, "models.list": listModels, "models.get": showModel,
		"experts": experts, "dlq": letters, "dlq.get": letter, "dlq.retry": retryLetter, "health": health,
		"runs": runs, "runners": runners,
	}
	if f, ok := own[name]; ok {
		return f
	}
	return forward
}

// forward sends the verb to the service that has it.
func forward(c *call) error {
	body, err := c.ask(c.verb.Name, c.in)
	if err != nil {
		return err
	}
	c.give(body)
	return nil
}

// ask calls a verb on the bus. Errors: refusal, and those of the bus.
func (c *call) ask(name string, in any) ([]byte, error) {
	request, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	b := c.gateway.Client.Bus()
	answer, fault, err := b.Services().Request(c.r.Context(), b.Names().API(name), request)
	if fault != nil {
		return nil, refusalOf(fault, answer)
	}
	return answer, client.MissingService(b.Names(), name, err)
}

// refusal is a fault of a service, with all further faults.
type refusal struct {
	*events.Fault
	all events.Faults
	job string
}

// Unwrap returns the first fault.
func (r *refusal) Unwrap() error { return r.Fault }

func refusalOf(fault *events.Fault, answer []byte) error {
	r := &refusal{Fault: fault}
	var rejection events.Rejection
	if json.Unmarshal(answer, &rejection) == nil && len(rejection.Faults) > 0 {
		r.Fault, r.all, r.job = &rejection.Faults[0], rejection.Faults, rejection.JobID
	}
	return r
}

// give sends JSON that a service has returned, with the status of the verb.
func (c *call) give(body []byte) {
	c.sent = true
	status := c.verb.Status
	if status == 0 {
		status = http.StatusOK
	}
	send(c.w, c.r, status, "application/json", body)
}

// reply sends JSON with the status of the verb.
func (c *call) reply(body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	c.give(text)
	return nil
}

// text returns a field of the input, "" if it is absent.
func (c *call) text(name string) string {
	var s string
	_ = json.Unmarshal(c.in[name], &s) // Any other type has no text.
	return s
}

// into decodes the input strictly.
func (c *call) into(v any) error {
	text, err := json.Marshal(c.in)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return &events.Fault{Code: events.CodeMalformed, Message: "the input cannot be read", Cause: plainjson.Misfit(err), Hint: "/openapi.json says what this route takes"}
	}
	return nil
}

// fail sends an error, unless an answer has begun, and returns its fault.
func (c *call) fail(err error) *events.Fault {
	fault, all, job := faultOf(err)
	if c.sent {
		return fault
	}
	if errors.Is(err, context.Canceled) && c.r.Context().Err() != nil {
		return fault // The client is gone.
	}
	status := verb.Status(fault.Code)
	if fault.Code == events.CodeUnavailable || fault.Code == events.CodeTooMany {
		c.w.Header().Set("Retry-After", "1")
	}
	if fault.Code == events.CodeConflict && c.r.Header.Get(keyHeader) != "" && c.verb.Name == "submit" {
		status = http.StatusUnprocessableEntity
	}
	refuseAll(c.w, c.r, status, fault, all, job)
	return fault
}

// Fault converts an error to a fault.
func (*Gateway) Fault(err error) *events.Fault {
	fault, _, _ := faultOf(err)
	return fault
}

// faultOf converts an error to a fault.
func faultOf(err error) (fault *events.Fault, all events.Faults, job string) {
	var r *refusal
	if errors.As(err, &r) {
		return r.Fault, r.all, r.job
	}
	if errors.As(err, &all) && len(all) > 0 {
		return &all[0], all, ""
	}
	if errors.As(err, &fault) {
		return fault, nil, ""
	}
	code, hint := events.CodeInternal, "the log of the gateway says more"
	for _, class := range []struct {
		err  error
		code events.Code
		hint string
	}{
		{bus.ErrNotFound, events.CodeNotFound, "GET /api/v1/jobs lists the jobs there are"},
		{bus.ErrConflict, events.CodeConflict, "read it again, then decide"},
		{bus.ErrTooLarge, events.CodeTooLarge, "send less"},
		{bus.ErrNotPermitted, events.CodeNotPermitted, "the gateway's credentials on the bus do not allow this"},
		{bus.ErrUnavailable, events.CodeUnavailable, "try again; GET /api/v1/health says which services answer"},
		{bus.ErrFull, events.CodeUnavailable, "free space or raise the limit of the stream, then try again"},
		{bus.ErrUnknown, events.CodeUnavailable, "look whether it was done, then ask again under the same id; `jobgraph doctor` says whether the disk of the server is full"},
		{bus.ErrClosed, events.CodeUnavailable, "the gateway is ending; try another one, or again"},
		{joblog.ErrPoisoned, events.CodeMustUnderstand, "use a gateway of the newest release that ran here"},
		{context.DeadlineExceeded, events.CodeUnavailable, "try again"},
		{context.Canceled, events.CodeUnavailable, "try again"},
	} {
		if errors.Is(err, class.err) {
			code, hint = class.code, class.hint
			break
		}
	}
	return &events.Fault{Code: code, Message: "the request was not done", Cause: err.Error(), Hint: hint}, nil, ""
}
