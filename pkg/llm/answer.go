package llm

import (
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// answer is a Response under construction. Both dialects, streamed or not, write to it.
type answer struct {
	sink  func(Delta)
	think thinker
	// redactor removes what an answer must never show; saying and thinking do so while texts arrive.
	redactor         *redact.Redactor
	saying, thinking *redact.Stream
	// size is the present size of the answer in bytes.
	size int
	// said, thought and refusal are the texts received so far.
	said, thought, refusal strings.Builder
	calls                  merger
	// ended is the provider's reason for the end, "" until it has given one.
	ended string
	// reason is what the provider says about that end.
	reason string
	// over is set at the orderly end of a stream, done when the provider has said [DONE], summed when usage arrived separately and
	// no text has followed.
	over, done, summed bool
	id                 string
	model              string
	used               Usage
}

func newAnswer(cfg ModelConfig, redactor *redact.Redactor, sink func(Delta)) *answer {
	a := &answer{sink: sink, redactor: redactor, saying: redactor.Stream(true), thinking: redactor.Stream(true)}
	if cfg.OpenThink {
		a.think = openThinker()
	}
	return a
}

// say adds a piece of content.
func (a *answer) say(piece string) {
	a.size += len(piece)
	if piece != "" {
		a.pass(a.think.feed(piece))
	}
}

func (a *answer) pass(said, thought string) { a.give(a.saying.Feed(said), a.thinking.Feed(thought)) }

func (a *answer) give(said, thought string) {
	a.said.WriteString(said)
	a.thought.WriteString(thought)
	if said != "" || thought != "" {
		a.sink(Delta{Text: said, Reasoning: thought})
	}
}

// muse adds a piece of reasoning.
func (a *answer) muse(piece string) {
	a.size += len(piece)
	if piece != "" {
		a.pass("", piece)
	}
}

func (a *answer) call(p callPiece) {
	calls := len(a.calls.calls)
	name := a.calls.add(p)
	a.size += len(p.id) + len(p.name) + len(p.args) + (len(a.calls.calls)-calls)*callSize
	if name != "" {
		a.sink(Delta{Call: name})
	}
}

// ends maps providers' reasons to regular ends and error classes. An unknown reason counts as a regular end: the provider
// did say that the answer is complete.
var ends = map[string]Class{
	"length": LengthCut, "max_tokens": LengthCut, "max_output_tokens": LengthCut, "model_length": LengthCut,
	"content_filter": Filtered, "safety": Filtered, "recitation": Filtered, "blocklist": Filtered,
	"prohibited_content": Filtered, "sensitive": Filtered,
	"spii": Filtered, "language": Filtered, "image_safety": Filtered, "image_prohibited_content": Filtered, "image_recitation": Filtered, "other": Filtered,
	"malformed_function_call": Malformed, "unexpected_tool_call": Malformed, "too_many_tool_calls": Malformed, "malformed_response": Malformed,
	"missing_thought_signature": BadRequest, "model_context_window_exceeded": ContextTooLong,
	"refusal": Refused, "error": Unavailable, "failed": Unavailable, "cancelled": Unavailable,
	"insufficient_system_resource": Overloaded, "incomplete": LengthCut, "in_progress": StreamCut, "queued": StreamCut,
}

// finish judges the answer. It is believed only when the provider has ended it, and ended it well.
func (a *answer) finish(r Request, rung Rung) (Response, *Error) {
	a.pass(a.think.flush())
	a.give(a.saying.Flush(), a.thinking.Flush())
	if a.ended == "" && !a.settled() {
		return Response{}, a.bad(StreamCut, "the answer stopped without a reason")
	}
	if class, bad := ends[strings.ToLower(a.ended)]; bad {
		return Response{}, a.ending(class)
	}
	if a.refusal.Len() > 0 {
		return Response{}, a.bad(Refused, excerpt(a.refusal.String(), a.redactor))
	}
	calls, fail := a.calls.finish(a.id)
	if fail != nil {
		fail.Partial = a.partial()
		return Response{}, fail
	}
	answered := a.partial()
	answered.Calls = calls
	for i := range calls {
		calls[i].Args = string(a.redactor.JSON([]byte(calls[i].Args)))
	}
	if rung == RungTool && answered.unwrap(r.Schema.Name) {
		answered.Text = a.redactor.Keys(answered.Text)
	}
	answered.Text = before(answered.Text, r.Stop)
	answered.Finish = FinishStop
	if len(answered.Calls) > 0 {
		answered.Finish = FinishCalls
	} else if strings.TrimSpace(answered.Text) == "" {
		return Response{}, a.bad(Empty, "the answer is finished and says nothing")
	}
	return *answered, nil
}

// ending returns the error of an answer that the provider ended badly. If what the model wrote is wrong, the model can correct it,
// so the error then has a partial answer even if nothing of it can be read.
func (a *answer) ending(class Class) *Error {
	why := "the answer ended with " + a.ended
	if a.reason != "" {
		why += ": " + a.reason
	}
	fail := a.bad(class, excerpt(why, a.redactor))
	if class == Malformed && fail.Partial == nil {
		fail.Partial = a.partial()
	}
	return fail
}

// settled reports whether a stream that gave no reason has nevertheless ended. Some providers only say [DONE], only report the
// usage, or say nothing after a tool call with complete arguments. A stream that stops anywhere else was cut off.
func (a *answer) settled() bool {
	told := a.done || a.summed
	calls, whole := a.calls.complete(told)
	said := calls > 0 || a.refusal.Len() > 0 || strings.TrimSpace(a.said.String()) != ""
	return a.over && said && whole && (told || calls > 0)
}

// tooLarge returns an error if the answer exceeds its size limit, else nil. The error contains no partial answer, which
// would be too long to read.
func (a *answer) tooLarge() *Error {
	if a.size <= maxAnswer {
		return nil
	}
	return &Error{Class: Malformed, Message: "the answer is larger than an answer may be", Partial: &Response{Usage: a.used, ID: a.id, Served: a.model}}
}

// decline adds a piece of a refusal.
func (a *answer) decline(piece string) {
	a.size += len(piece)
	a.refusal.WriteString(piece)
}

func (a *answer) bad(class Class, why string) *Error {
	e := &Error{Class: class, Message: why}
	a.give(a.saying.Flush(), a.thinking.Flush())
	if a.said.Len() > 0 || a.thought.Len() > 0 || a.used.Total() > 0 {
		e.Partial = a.partial()
	}
	return e
}

func (a *answer) partial() *Response {
	return &Response{
		Text: a.said.String(), Reasoning: strings.TrimSpace(a.thought.String()), Usage: a.used, ID: a.id, Served: a.model,
	}
}

// unwrap moves the structured output out of the forced tool call. It reports whether there was one.
func (r *Response) unwrap(name string) bool {
	i := slices.IndexFunc(r.Calls, func(c Call) bool { return c.Name == name })
	if i < 0 {
		return false
	}
	r.Text = r.Calls[i].Args
	r.Calls = slices.DeleteFunc(r.Calls, func(c Call) bool { return c.Name == name })
	if len(r.Calls) == 0 {
		r.Calls = nil
	}
	return true
}

// before cuts a text before the first of the stops, for providers that do not do so.
func before(text string, stops []string) string {
	for _, stop := range stops {
		if stop != "" {
			text, _, _ = strings.Cut(text, stop)
		}
	}
	return text
}
