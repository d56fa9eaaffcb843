package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/llm/lenient"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// functionCall is a call as models write it that know no tools but by the prompt.
var functionCall = regexp.MustCompile(`(?is)<function_call>(.*?)</function_call>`)

// written finds the calls that a text consists of, and what is said beside.
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
