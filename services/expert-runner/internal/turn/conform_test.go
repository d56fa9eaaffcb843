package turn_test

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/turn"
)

// A summary that cannot be had is no summary: the failure of its question is that of the run.
//
// proves F-T7
func TestAFailureOfTheSummaryIsTheFailure(t *testing.T) {
	c := begin(t, turn.Rules{Tools: true, Turns: 1, Summary: true})
	c.next(turn.Ask)
	c.Take(turn.Fact{Kind: turn.Answered, Text: "I have seen half of it.", Calls: []turn.Call{search("a", "")}, Tokens: 10})
	if ask := c.next(turn.Ask); ask.Choice != turn.ChoiceNone {
		t.Errorf("tools are offered: %q", ask.Choice)
	}
	c.Take(turn.Fact{Kind: turn.Failed, Outcome: events.ExecutionError, Fault: events.Fault{Code: events.CodeUnavailable, Message: "the model is away"}})
	e := c.next(turn.End).Ending
	if e.Outcome != events.ExecutionError || e.Fault.Code != events.CodeUnavailable || len(e.Output) > 0 || !strings.Contains(e.Lesson, "I have seen half of it.") {
		t.Errorf("%+v", e)
	}
}

// Whoever can read what is kept for the session looks there first.
//
// proves F-T7
func TestDocumentsOfTheSessionAreLookedThroughFirst(t *testing.T) {
	for _, shelf := range []bool{false, true} {
		opening := turn.Opening(&turn.Brief{Prompt: "You write.", Work: &events.Work{Goal: "Write"}, Shelf: shelf})
		if got := strings.Contains(opening[0].Text, "Look through them first, with list_knowledge"); got != shelf {
			t.Errorf("with documents %v: %s", shelf, opening[0].Text)
		}
	}
}
