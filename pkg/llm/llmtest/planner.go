package llmtest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Planner answers without a script, always the same to the same question: asked for a form, it fills it; made to call a
// tool, it calls it; asked for a plan in words, it makes one of a single SubJob; else it says what it was asked.
type Planner struct{}

// Respond answers one question.
func (Planner) Respond(q Question) (Answer, error) {
	goal := goalOf(q)
	if q.Schema != nil {
		return Answer{Text: fill(q.Schema, goal)}, nil
	}
	last := ""
	if len(q.Turns) > 0 {
		last = q.Turns[len(q.Turns)-1].Role
	}
	if name := forced(q); name != "" && last != "tool" {
		return Answer{Calls: []Call{{Name: name, Args: fill(q.Tools[name], goal)}}}, nil
	}
	if _, schema, found := strings.Cut(q.All(), "JSON Schema:\n"); found {
		var form json.RawMessage
		if json.NewDecoder(strings.NewReader(schema)).Decode(&form) == nil {
			return Answer{Text: fill(form, goal)}, nil
		}
	}
	if strings.Contains(q.All(), `"subjobs"`) {
		plan, err := json.Marshal(object{"subjobs": []object{{"id": "s1", "goal": goal}}})
		return Answer{Text: string(plan)}, err
	}
	return Answer{Text: "Scripted answer to: " + goal}, nil
}

// goalOf is what the last user's turn asks for: the line behind one that announces a request, else its first line; at most
// 200 letters.
func goalOf(q Question) string {
	lines := strings.Split(strings.TrimSpace(q.Last("user")), "\n")
	goal := lines[0]
	for i, line := range lines[:len(lines)-1] {
		if line = strings.TrimSpace(line); strings.HasSuffix(line, "request:") || strings.HasSuffix(line, "请求：") {
			goal = lines[i+1]
		}
	}
	if letters := []rune(goal); len(letters) > 200 {
		goal = string(letters[:200])
	}
	return cmp.Or(strings.TrimSpace(goal), "nothing")
}

// forced is the tool that must be called, "" when none must.
func forced(q Question) string {
	names := slices.Sorted(maps.Keys(q.Tools))
	switch q.ToolChoice {
	case "", "auto", "none":
		return ""
	case "required":
		if len(names) > 0 {
			return names[len(names)-1]
		}
	}
	return q.ToolChoice
}
