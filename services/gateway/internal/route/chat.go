package route

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/openai"
	"github.com/jobgraph/jobgraph/services/gateway/internal/stream"
)

// chat answers the last message of a conversation: whole, or in pieces while it is written. A client that leaves stops nothing.
func chat(c *call) error {
	var in verb.ChatRequest
	if err := json.Unmarshal(c.raw, &in); err != nil {
		return &events.Fault{Code: events.CodeMalformed, Message: "the request cannot be read", Cause: err.Error(), Hint: `send {"model":"…","messages":[{"role":"user","content":"…"}]}`}
	}
	talk, err := openai.Read(&in)
	if err != nil {
		return err
	}
	models, err := c.models()
	if err != nil {
		return err
	}
	model, err := models.find(in.Model)
	if err != nil {
		return err
	}
	t := &turn{call: c, talk: talk}
	out := &completion{turn: t, model: in.Model, usage: in.StreamOptions != nil && in.StreamOptions.IncludeUsage, created: time.Now().Unix()}
	return c.attend(func(ctx context.Context) error {
		if err := t.open(&in, model); err != nil {
			return err
		}
		whole := false
		defer func() { t.settle(whole) }()
		if in.Stream {
			err = out.stream(ctx)
		} else {
			err = out.send(ctx)
		}
		var bad *unsuccessful
		whole = err == nil || errors.As(err, &bad)
		return err
	})
}

// completion writes an answer in the form of chat completions.
type completion struct {
	*turn
	model   string
	usage   bool
	created int64
}

// send answers when the answer is complete.
func (o *completion) send(ctx context.Context) error {
	to := http.NewResponseController(o.w)
	if err := to.SetReadDeadline(time.Time{}); err != nil { // An answer may take longer than a request may.
		return err
	}
	a, err := o.follow(ctx, func(openai.Delta) error { return nil }, func() error { return nil })
	if other := to.SetWriteDeadline(time.Now().Add(o.gateway.Write)); other != nil && err == nil {
		err = other
	}
	var bad *unsuccessful
	switch {
	case errors.As(err, &bad):
		o.sent = true
		o.w.Header().Set("X-Should-Retry", "false") // The same request would do the work again.
		refuseAs(o.w, o.r, http.StatusUnprocessableEntity, bad.Fault)
		return err
	case err != nil:
		return err
	}
	if err := o.remember(ctx, a.text, a.request != ""); err != nil {
		return err
	}
	body := o.body("chat.completion")
	stop := finishReason
	body.Choices = []verb.ChatChoice{{Message: &verb.ChatReply{Role: "assistant", Content: &a.text}, FinishReason: &stop}}
	body.Usage, body.Jobgraph = usageOf(a), o.origin(a)
	return o.reply(body)
}

// finishReason is why an answer ends: it is complete.
const finishReason = "stop"

// stream answers in pieces. What goes wrong after the first is told in the stream.
func (o *completion) stream(ctx context.Context) error {
	o.sent = true
	s, err := stream.Plain(o.w, o.gateway.Write)
	if err != nil {
		return err
	}
	empty := ""
	err = o.chunk(s, &verb.ChatReply{Role: "assistant", Content: &empty}, nil)
	var a *answerOf
	if err == nil {
		a, err = o.follow(ctx, func(d openai.Delta) error {
			reply := &verb.ChatReply{Reasoning: d.Reasoning}
			if d.Content != "" {
				reply.Content = &d.Content
			}
			return o.chunk(s, reply, nil)
		}, func() error { return o.chunk(s, &verb.ChatReply{}, nil) })
	}
	if err == nil {
		err = o.remember(ctx, a.said, a.request != "")
	}
	if err == nil {
		return o.end(s, a)
	}
	if o.r.Context().Err() == nil {
		fault, _, _ := faultOf(err)
		_ = s.Send("", "", openai.Fault(verb.Status(fault.Code), fault)) // The reader may be what failed.
	}
	return err
}

// end sends the last chunks.
func (o *completion) end(s *stream.Writer, a *answerOf) error {
	if err := o.chunk(s, &verb.ChatReply{}, a); err != nil {
		return err
	}
	if o.usage {
		last := o.body("chat.completion.chunk")
		last.Usage = usageOf(a)
		text, err := json.Marshal(last)
		if err != nil {
			return err
		}
		s.Add("", "", text)
	}
	return s.Send("", "", []byte("[DONE]"))
}

// chunk sends a piece; with the whole answer it is the last one.
func (o *completion) chunk(s *stream.Writer, delta *verb.ChatReply, a *answerOf) error {
	body := o.body("chat.completion.chunk")
	choice := verb.ChatChoice{Delta: delta}
	if a != nil {
		stop := finishReason
		choice.FinishReason, body.Jobgraph = &stop, o.origin(a)
	}
	body.Choices = append(body.Choices, choice)
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.Send("", "", text)
}

func (o *completion) body(object string) *verb.ChatCompletion {
	return &verb.ChatCompletion{ID: "chatcmpl-" + o.job, Object: object, Created: o.created, Model: o.model, Choices: []verb.ChatChoice{}}
}

func (o *completion) origin(a *answerOf) *verb.ChatOrigin {
	return &verb.ChatOrigin{JobID: o.job, Session: o.request.Session, Request: a.request}
}

func usageOf(a *answerOf) *verb.ChatUsage {
	return &verb.ChatUsage{Completion: a.spent.Tokens, Total: a.spent.Tokens}
}
