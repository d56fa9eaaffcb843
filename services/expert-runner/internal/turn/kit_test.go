package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/turn"
)

// talk is a conversation under test.
type talk struct {
	t *testing.T
	*turn.Machine
}

func begin(t *testing.T, rules turn.Rules) *talk {
	t.Helper()
	if rules.Delivered == nil {
		rules.Delivered = func(text string) bool { return strings.Contains(text, "<deliverable>") }
	}
	if rules.Read == nil {
		rules.Read = func(text string) (json.RawMessage, []string) {
			raw, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			return raw, nil
		}
	}
	opening := []turn.Message{{Role: turn.System, Text: "Be good."}, {Role: turn.User, Text: "Do it."}}
	return &talk{t: t, Machine: turn.New(rules, opening)}
}

// next expects a command of a kind.
func (c *talk) next(kind turn.CommandKind) turn.Command {
	c.t.Helper()
	got := c.Next()
	if got.Kind != kind {
		c.t.Fatalf("next is %+v, want %s", got, kind)
	}
	return got
}

// say lets the model answer in words.
func (c *talk) say(text string) {
	c.t.Helper()
	c.next(turn.Ask)
	c.Take(turn.Fact{Kind: turn.Answered, Text: text, Tokens: 10})
}

// call lets the model call tools.
func (c *talk) call(calls ...turn.Call) {
	c.t.Helper()
	c.next(turn.Ask)
	c.Take(turn.Fact{Kind: turn.Answered, Calls: calls, Tokens: 10})
}

// see lets every tool answer.
func (c *talk) see(text string) {
	c.t.Helper()
	for _, i := range c.next(turn.Use).Pending {
		c.Take(turn.Fact{Kind: turn.Observed, Call: i, Result: text})
	}
}

// last is what the model is told last.
func (c *talk) last() string {
	c.t.Helper()
	messages := c.next(turn.Ask).Messages
	return messages[len(messages)-1].Text
}

func search(id, args string) turn.Call { return turn.Call{ID: id, Name: "search", Args: args} }

func terminate(args string) turn.Call { return turn.Call{ID: "t", Name: turn.Terminate, Args: args} }

// oneForm is the form of one text alone.
func oneForm(text string) (json.RawMessage, []string) {
	if text == "right" {
		return json.RawMessage(`{}`), nil
	}
	return nil, []string{"/a: is missing", "/b: is no number"}
}
