package llmtest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Planner answers without a script, always in the same way: if a form is requested, it fills it; if it must call a tool, it calls
// it; if a plan in words is requested, it returns one with a single SubJob; otherwise it repeats the question.
type Planner struct{}

// delivers is the instruction to an actor whose result must be in a tag.
const delivers = "Give the <deliverable>"

// Respond answers one question.
func (p Planner) Respond(q Question) (Answer, error) {
	a, err := p.respond(q)
	if a.Text != "" && q.Schema == nil && strings.Contains(q.All(), delivers) {
		a.Text = "<deliverable>" + a.Text + "</deliverable>"
	}
	return a, err
}

func (Planner) respond(q Question) (Answer, error) {
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

// goalOf returns the user's goal: the last line after one that announces a request, else the first line of the last turn;
// at most 200 letters.
func goalOf(q Question) string {
	goal, _, _ := strings.Cut(strings.TrimSpace(q.Last("user")), "\n")
	for _, turn := range q.Turns {
		if turn.Role != "user" {
			continue
		}
		lines := strings.Split(strings.TrimSpace(turn.Text), "\n")
		for i, line := range lines[:len(lines)-1] {
			if line = strings.TrimSpace(line); strings.HasSuffix(line, "request:") || strings.HasSuffix(line, "请求：") {
				goal = lines[i+1]
			}
		}
	}
	if letters := []rune(goal); len(letters) > 200 {
		goal = string(letters[:200])
	}
	return cmp.Or(strings.TrimSpace(goal), "nothing")
}

// forced returns the tool that must be called, or "".
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
