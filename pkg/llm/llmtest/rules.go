package llmtest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// anthropicRules are Anthropic's demands on a request, with its error messages.
type anthropicRules struct {
	asked  *anthropicAsked
	header http.Header
	wrong  string
	// open are the calls that the next message has to answer; called is true once one of them was answered.
	open   []string
	called bool
	n      int
}

func (r *anthropicRules) reject(format string, args ...any) {
	r.wrong = cmp.Or(r.wrong, fmt.Sprintf(format, args...))
}

func (r *anthropicRules) message(role string, blocks []anthropicBlock) {
	if r.n == 0 && role != "user" {
		r.reject("messages: first message must use the %q role", "user")
	}
	if role != "user" && role != "assistant" {
		r.reject("messages.%d.role: Input should be 'user' or 'assistant'", r.n)
	}
	if len(blocks) == 0 {
		r.reject("messages.%d: all messages must have non-empty content", r.n)
	}
	answered := map[string]bool{}
	for i, b := range blocks {
		switch {
		case b.Type == "text" && strings.TrimSpace(b.Text) == "":
			r.reject("messages: text content blocks must be non-empty")
		case b.Type == "thinking" && !strings.HasPrefix(b.Signature, "sealed-"):
			r.reject("messages.%d.content.%d: Invalid `signature` in `thinking` block", r.n, i)
		case b.Type == "tool_result" && !slices.Contains(r.open, b.Answers):
			r.reject("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", r.n, i, b.Answers)
		case b.Type == "tool_result":
			answered[b.Answers] = true
		}
	}
	for _, id := range r.open {
		if !answered[id] {
			r.reject("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", r.n-1, id)
		}
	}
	r.open = nil
	for _, b := range blocks {
		if b.Type == "tool_use" {
			r.open, r.called = append(r.open, b.ID), true
		}
	}
	r.n++
}

// end returns what is wrong with the request, "" if nothing is.
func (r *anthropicRules) end() string {
	forced := r.asked.Choice.Type == "any" || r.asked.Choice.Type == "tool"
	switch {
	case r.header.Get("Anthropic-Version") == "":
		r.reject("anthropic-version: header is required")
	case r.asked.MaxTokens <= 0:
		r.reject("max_tokens: Field required")
	case r.n == 0:
		r.reject("messages: at least one message is required")
	case r.called && len(r.asked.Tools) == 0:
		r.reject("Requests which include `tool_use` or `tool_result` blocks must define tools")
	case forced && (r.asked.Thinking.Type == "enabled" || r.asked.Thinking.Type == "adaptive"):
		r.reject("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return r.wrong
}

// geminiWrong returns Google's complaint about the contents of a request, "" if there is none.
func geminiWrong(asked *geminiAsked, model string) string {
	if len(asked.Contents) == 0 {
		return "GenerateContentRequest.contents: contents is not specified"
	}
	open := 0
	for _, c := range asked.Contents {
		calls, results, signed := 0, 0, false
		for _, p := range c.Parts {
			switch {
			case p.Call != nil:
				calls++
				signed = signed || p.Signature != ""
			case p.Result != nil:
				results++
			case p.Text == nil && p.Inline == nil && p.File == nil:
				return "GenerateContentRequest.contents: contents.parts must not be empty: required oneof field 'data' must have one initialized field"
			}
		}
		switch {
		case c.Role != "user" && c.Role != "model":
			return "Please use a valid role: user, model."
		case len(c.Parts) == 0:
			return "GenerateContentRequest.contents: contents.parts must not be empty."
		case results != open:
			return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
		case calls > 0 && !signed && strings.HasPrefix(model, "gemini-3"):
			return "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly."
		}
		open = calls
	}
	return ""
}
