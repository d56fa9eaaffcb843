package conversation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// talk is a conversation under test.
type talk struct {
	t *testing.T
	*conversation.Machine
}

func begin(t *testing.T, rules conversation.Rules) *talk {
	t.Helper()
	if rules.Delivered == nil {
		rules.Delivered = func(text string) bool { return strings.Contains(text, "<deliverable>") }
	}
	if rules.Read == nil {
		rules.Read = func(text string) (json.RawMessage, []string) {
			raw := musttest.JSON(t, text)
			return raw, nil
		}
	}
	opening := []conversation.Message{{Role: conversation.System, Text: "Be good."}, {Role: conversation.User, Text: "Do it."}}
	return &talk{t: t, Machine: conversation.New(rules, opening)}
}

// next expects a command of a kind.
func (c *talk) next(kind conversation.CommandKind) conversation.Command {
	c.t.Helper()
	got := c.Next()
	if got.Kind != kind {
		c.t.Fatalf("next is %+v, want %s", got, kind)
	}
	return got
}

// say makes the model answer with text.
func (c *talk) say(text string) {
	c.t.Helper()
	c.next(conversation.Ask)
	c.Take(conversation.Fact{Kind: conversation.Answered, Text: text, Tokens: 10})
}

// call makes the model call tools.
func (c *talk) call(calls ...conversation.Call) {
	c.t.Helper()
	c.next(conversation.Ask)
	c.Take(conversation.Fact{Kind: conversation.Answered, Calls: calls, Tokens: 10})
}

// see makes every tool answer.
func (c *talk) see(text string) {
	c.t.Helper()
	for _, i := range c.next(conversation.Use).Pending {
		c.Take(conversation.Fact{Kind: conversation.Observed, Call: i, Result: text})
	}
}

// last returns the last message to the model.
func (c *talk) last() string {
	c.t.Helper()
	messages := c.next(conversation.Ask).Messages
	return messages[len(messages)-1].Text
}

func search(id, args string) conversation.Call {
	return conversation.Call{ID: id, Name: "search", Args: args}
}

func terminate(args string) conversation.Call {
	return conversation.Call{ID: "t", Name: conversation.Terminate, Args: args}
}

// oneForm reads a form with only one text.
func oneForm(text string) (json.RawMessage, []string) {
	if text == "right" {
		return json.RawMessage(`{}`), nil
	}
	return nil, []string{"/a: is missing", "/b: is no number"}
}
