package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/llm/lenient"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// functionCall matches a tool call in the text of models that know tools only from the prompt.
var functionCall = regexp.MustCompile(`(?is)<function_call>(.*?)</function_call>`)

// written extracts the tool calls from a text, and returns the remaining text. unreadable names the place of a call that can
// be read in more than one way; then no call counts.
func (r *run) written(text string, number int) (said string, calls []conversation.Call, unreadable string) {
	for i, found := range functionCall.FindAllStringSubmatch(text, -1) {
		call := conversation.Call{ID: fmt.Sprintf("text-%d-%d", number, i), Args: strings.TrimSpace(found[1])}
		var c struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		}
		raw, doubt, err := r.callIn(found[1])
		if doubt != "" {
			return text, nil, doubt
		}
		if err == nil && json.Unmarshal(raw, &c) == nil && c.Name != "" {
			call.Name, call.Args = c.Name, string(c.Args)
		} else {
			call.Name = "unreadable"
		}
		calls = append(calls, call)
	}
	if calls == nil {
		return text, nil, ""
	}
	return strings.TrimSpace(functionCall.ReplaceAllString(text, "")), calls, ""
}

// callShape is the JSON form of a tool call that a model wrote into its text.
var callShape = lenient.ShapeOf(json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"args":{"type":"object"}},"required":["name"],"additionalProperties":false}`))

// callIn finds a call in a text.
func (r *run) callIn(text string) (raw json.RawMessage, doubt string, err error) {
	o := lenient.Options{Fits: lenient.Object}
	if !r.exchange.careful {
		raw, _, err = lenient.Read(text, o)
		return raw, "", err
	}
	o.Shape = callShape
	return examined(text, o, useTool, r.trusted)
}
