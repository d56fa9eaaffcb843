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

// written extracts the tool calls from a text, and returns the remaining text.
func written(text string, number int) (said string, calls []conversation.Call) {
	for i, found := range functionCall.FindAllStringSubmatch(text, -1) {
		call := conversation.Call{ID: fmt.Sprintf("text-%d-%d", number, i), Args: strings.TrimSpace(found[1])}
		var c struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		}
		raw, _, err := lenient.Read(found[1], lenient.Options{Fits: lenient.Object})
		if err == nil && json.Unmarshal(raw, &c) == nil && c.Name != "" {
			call.Name, call.Args = c.Name, string(c.Args)
		} else {
			call.Name = "unreadable"
		}
		calls = append(calls, call)
	}
	if calls == nil {
		return text, nil
	}
	return strings.TrimSpace(functionCall.ReplaceAllString(text, "")), calls
}
