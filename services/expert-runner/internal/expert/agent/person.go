package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// personSchema is the JSON Schema of AskPerson's arguments.
const personSchema = `{"type":"object","properties":{"question":{"type":"string"},` +
	`"options":{"type":"array","items":{"type":"string"},"description":"the choices, if they are few"}},"required":["question"]}`

// person returns a person's answer, or the request for it.
func (r *run) person(number, i int, args string) (string, *events.InputRequested) {
	var a struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}
	if err := json.Unmarshal([]byte(args), &a); err != nil || strings.TrimSpace(a.Question) == "" {
		return "Error: bad arguments: question is needed", nil
	}
	w := r.task.Work
	mark := fmt.Sprintf("ask-%d-%d", number, i)
	if closed := r.closedAs(mark); closed != nil {
		return answerOf(closed), nil
	}
	for n := range a.Options {
		a.Options[n] = conversation.Clip(a.Options[n], maxOption)
	}
	return "", &events.InputRequested{
		Request: jobrun.RequestID(w.SubJob, w.Run, mark), Kind: events.InputClarification, Prompt: conversation.Clip(a.Question, maxQuestion),
		Options: a.Options[:min(len(a.Options), maxOptions)], User: w.User,
	}
}

// Limits of a question to a person: its length and that of each choice in bytes, and the number of choices.
const (
	maxQuestion = 8 << 10
	maxOption   = 500
	maxOptions  = 50
)

func answerOf(c *events.InputClosed) string {
	if c.Action == events.Cancelled || len(c.Answer) == 0 {
		return "(no answer)"
	}
	return conversation.Words(c.Answer)
}
