package route

import (
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/openai"
	"github.com/jobgraph/jobgraph/services/gateway/internal/stream"
)

// chat answers the last message of a conversation in the form of chat completions.
func chat(c *call) error {
	var in verb.ChatRequest
	if err := json.Unmarshal(c.raw, &in); err != nil {
		return &events.Fault{Code: events.CodeMalformed, Message: "the request cannot be read", Cause: plainjson.Misfit(err), Hint: `send {"model":"…","messages":[{"role":"user","content":"…"}]}`}
	}
	t := &turn{call: c}
	o := &completion{turn: t, model: in.Model, usage: in.StreamOptions != nil && in.StreamOptions.IncludeUsage}
	return t.answer(&in, writing{whole: o.whole, begin: o.begin, piece: o.piece, alive: o.alive, end: o.end, fail: o.fail})
}

// completion is the form of chat completions.
type completion struct {
	turn  *turn
	model string
	usage bool
}

// finishReason is why an answer ends: it is complete.
const finishReason = "stop"

func (o *completion) whole(a *answerOf) any {
	body := o.body("chat.completion")
	stop := finishReason
	body.Choices = []verb.ChatChoice{{Message: &verb.ChatReply{Role: "assistant", Content: &a.text}, FinishReason: &stop}}
	body.Usage, body.Jobgraph = usageOf(a), o.turn.origin(a)
	return body
}

func (o *completion) begin(s *stream.Writer) error {
	empty := ""
	return o.chunk(s, &verb.ChatReply{Role: "assistant", Content: &empty}, nil)
}

func (o *completion) piece(s *stream.Writer, d openai.Delta) error {
	reply := &verb.ChatReply{Reasoning: d.Reasoning}
	if d.Content != "" {
		reply.Content = &d.Content
	}
	return o.chunk(s, reply, nil)
}

func (o *completion) alive(s *stream.Writer) error { return o.chunk(s, &verb.ChatReply{}, nil) }

func (o *completion) fail(s *stream.Writer, fault *events.Fault) error {
	return s.Send("", "", openai.Fault(verb.Status(fault.Code), fault))
}

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

// chunk sends a piece; if a is set, it is the last one.
func (o *completion) chunk(s *stream.Writer, delta *verb.ChatReply, a *answerOf) error {
	body := o.body("chat.completion.chunk")
	choice := verb.ChatChoice{Delta: delta}
	if a != nil {
		stop := finishReason
		choice.FinishReason, body.Jobgraph = &stop, o.turn.origin(a)
	}
	body.Choices = append(body.Choices, choice)
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.Send("", "", text)
}

func (o *completion) body(object string) *verb.ChatCompletion {
	return &verb.ChatCompletion{ID: "chatcmpl-" + o.turn.job, Object: object, Created: o.turn.created, Model: o.model, Choices: []verb.ChatChoice{}}
}

func usageOf(a *answerOf) *verb.ChatUsage {
	return &verb.ChatUsage{Completion: a.spent.Tokens, Total: a.spent.Tokens}
}
