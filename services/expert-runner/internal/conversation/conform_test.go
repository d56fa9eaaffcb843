package conversation_test

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// Without a summary there is no substitute: if the question for it fails, the run fails with the same error.
// proves F-T7
func TestAFailureOfTheSummaryIsTheFailure(t *testing.T) {
	c := begin(t, conversation.Rules{Tools: true, Turns: 1, Summary: true})
	c.next(conversation.Ask)
	c.Take(conversation.Fact{Kind: conversation.Answered, Text: "I have seen half of it.", Calls: []conversation.Call{search("a", "")}, Tokens: 10})
	if ask := c.next(conversation.Ask); ask.Choice != conversation.ChoiceNone {
		t.Errorf("tools are offered: %q", ask.Choice)
	}
	c.Take(conversation.Fact{Kind: conversation.Failed, Outcome: events.ExecutionError, Fault: events.Fault{Code: events.CodeUnavailable, Message: "the model is away"}})
	e := c.next(conversation.End).Ending
	if e.Outcome != events.ExecutionError || e.Fault.Code != events.CodeUnavailable || len(e.Output) > 0 || !strings.Contains(e.Lesson, "I have seen half of it.") {
		t.Errorf("%+v", e)
	}
}

// An agent that can read the documents of the session looks there first.
//
// proves F-T7
func TestDocumentsOfTheSessionAreLookedThroughFirst(t *testing.T) {
	for _, shelf := range []bool{false, true} {
		opening := conversation.Opening(&conversation.Brief{Prompt: "You write.", Work: &events.Work{Goal: "Write"}, Shelf: shelf})
		if got := strings.Contains(opening[0].Text, "Look through them first, with list_knowledge"); got != shelf {
			t.Errorf("with documents %v: %s", shelf, opening[0].Text)
		}
	}
}
