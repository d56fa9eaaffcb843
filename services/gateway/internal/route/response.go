package route

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/openai"
	"github.com/jobgraph/jobgraph/services/gateway/internal/stream"
)

// respond answers the last message of a conversation in the form of responses.
func respond(c *call) error {
	var in verb.ResponseRequest
	if err := json.Unmarshal(c.raw, &in); err != nil {
		return &events.Fault{Code: events.CodeMalformed, Message: "the request cannot be read", Cause: plainjson.Misfit(err), Hint: `send {"model":"…","input":"…"}`}
	}
	as, err := openai.ReadResponse(&in)
	if err != nil {
		return err
	}
	t := &turn{call: c, session: openai.Conversing(in.Conversation)}
	if in.Previous != "" {
		if t.session, err = c.sessionOf(in.Previous); err != nil {
			return err
		}
	}
	o := &response{turn: t, in: &in, suffix: strings.ToLower(rand.Text()[:suffixed])}
	return t.answer(as, writing{whole: o.whole, begin: o.begin, piece: o.piece, alive: o.alive, end: o.end, fail: o.fail})
}

// suffixed is the length of the suffix that distinguishes the responses of a job.
const suffixed = 8

// sessionOf returns the session of the job that made a response, given the id of the response.
func (c *call) sessionOf(id string) (string, error) {
	missing := &events.Fault{Code: events.CodeNotFound, Field: "previous_response_id", Message: "there is no response " + clip(id), Hint: "leave it out to begin a conversation"}
	job, ok := strings.CutPrefix(id, "resp_")
	if !ok || len(job) <= suffixed+1 || !events.ValidToken(job) {
		return "", missing
	}
	first, err := c.gateway.Client.Bus().Log().LastOf(c.r.Context(), job[:len(job)-suffixed-1], events.KindJobRequested)
	if err != nil {
		return "", err
	}
	if asked, ok := first.Data.(*events.JobRequested); ok && asked.Request.Session != "" {
		return asked.Request.Session, nil
	}
	return "", missing
}

// response is the form of responses. A streamed one has one message with one text.
type response struct {
	turn   *turn
	in     *verb.ResponseRequest
	suffix string
	number int // The number of the next event.
}

func (o *response) id() string { return "resp_" + o.turn.job + "_" + o.suffix }

// body returns the response; without an answer it is in progress.
func (o *response) body(a *answerOf, text string) *verb.Response {
	r := &verb.Response{ID: o.id(), Object: "response", CreatedAt: o.turn.created, Status: "in_progress", Model: o.in.Model, Output: []verb.ResponseOutput{}}
	if o.in.Previous != "" {
		r.Previous = &o.in.Previous
	}
	if a != nil {
		r.Status, r.Output, r.Jobgraph = "completed", []verb.ResponseOutput{*o.message("completed", text)}, o.turn.origin(a)
		r.Usage = &verb.ResponseUsage{Output: a.spent.Tokens, Total: a.spent.Tokens}
	}
	return r
}

// message returns the message of the response.
func (o *response) message(status, text string) *verb.ResponseOutput {
	m := &verb.ResponseOutput{ID: "msg_" + o.turn.job + "_" + o.suffix, Type: "message", Role: "assistant", Status: status, Content: []verb.ResponsePart{}}
	if status == "completed" {
		m.Content = append(m.Content, *part(text))
	}
	return m
}

func part(text string) *verb.ResponsePart {
	return &verb.ResponsePart{Type: "output_text", Text: text, Annotations: []json.RawMessage{}}
}

func (o *response) whole(a *answerOf) any { return o.body(a, a.text) }

// tell sends an event.
func (o *response) tell(s *stream.Writer, e *verb.ResponseEvent) error {
	e.Sequence = o.number
	o.number++
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return s.Send("", e.Type, text)
}

// about returns an event about the message, or about its text.
func (o *response) about(kind string, ofText bool) *verb.ResponseEvent {
	first := 0
	e := &verb.ResponseEvent{Type: "response." + kind, OutputIndex: &first}
	if ofText {
		e.ContentIndex, e.ItemID = &first, o.message("", "").ID
	}
	return e
}

func (o *response) begin(s *stream.Writer) error {
	added, opened := o.about("output_item.added", false), o.about("content_part.added", true)
	added.Item, opened.Part = o.message("in_progress", ""), part("")
	return errors.Join(
		o.tell(s, &verb.ResponseEvent{Type: "response.created", Response: o.body(nil, "")}), o.tell(s, &verb.ResponseEvent{Type: "response.in_progress", Response: o.body(nil, "")}),
		o.tell(s, added), o.tell(s, opened),
	)
}

// piece sends a part of the answer; this format has no place for reasoning.
func (o *response) piece(s *stream.Writer, d openai.Delta) error {
	if d.Content == "" {
		return nil
	}
	e := o.about("output_text.delta", true)
	e.Delta = d.Content
	return o.tell(s, e)
}

func (o *response) alive(s *stream.Writer) error { return s.Beat() }

func (o *response) end(s *stream.Writer, a *answerOf) error {
	text, closed, done := o.about("output_text.done", true), o.about("content_part.done", true), o.about("output_item.done", false)
	text.Text, closed.Part, done.Item = a.said, part(a.said), o.message("completed", a.said)
	return errors.Join(o.tell(s, text), o.tell(s, closed), o.tell(s, done), o.tell(s, &verb.ResponseEvent{Type: "response.completed", Response: o.body(a, a.said)}))
}

func (o *response) fail(s *stream.Writer, fault *events.Fault) error {
	r := o.body(nil, "")
	r.Status, r.Error = "failed", &verb.ResponseError{Code: string(fault.Code), Message: fault.Error()}
	return o.tell(s, &verb.ResponseEvent{Type: "response.failed", Response: r})
}
