package turn_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/turn"
)

// order lets the voices speak, and gives who was asked.
func order(c *talk, said ...string) (asked []string) {
	c.t.Helper()
	for _, text := range said {
		asked = append(asked, c.next(turn.Ask).Voice)
		c.say(text)
	}
	return asked
}

// proves C-T7
func TestThinkerAndActorSpeakInTurnsUntilTheActorDelivers(t *testing.T) {
	c := begin(t, turn.Rules{Mode: turn.Dual()})
	asked := order(c, "Look at the map.", "I see a river.", "What about <deliverable>it</deliverable>?", "There is a bridge.", "Deliver.", "<deliverable>a bridge</deliverable>")
	want := []string{"thinker", "actor", "thinker", "actor", "thinker", "actor"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
	if e := c.next(turn.End).Ending; e.Outcome != events.Success || string(e.Output) != "\"\\u003cdeliverable\\u003ea bridge\\u003c/deliverable\\u003e\"" {
		t.Errorf("%+v %s", e, e.Output)
	}

	c = begin(t, turn.Rules{Mode: turn.Dual()})
	order(c, "Deliver.", "<deliverable>at once</deliverable>")
	if e := c.next(turn.End).Ending; e.Outcome != events.Success || c.Turns() != 2 {
		t.Errorf("%+v after %d turns", e, c.Turns())
	}
}

// proves C-T7
func TestAFailedThinkerEndsTheConversationBeforeTheActorIsAsked(t *testing.T) {
	c := begin(t, turn.Rules{Mode: turn.Dual()})
	if ask := c.next(turn.Ask); len(ask.Messages) != 2 {
		t.Errorf("%+v", ask.Messages)
	}
	c.Take(turn.Fact{Kind: turn.Failed, Outcome: events.ExecutionError, Fault: events.Fault{Code: events.CodeUnavailable, Message: "away"}})
	if e := c.next(turn.End).Ending; e.Outcome != events.ExecutionError || e.Fault.Message != "away" || c.Turns() != 0 {
		t.Errorf("%+v after %d turns", e, c.Turns())
	}
}

func TestEachVoiceSeesTheOtherAsAUserAndOnlyTheActorHasTools(t *testing.T) {
	c := begin(t, turn.Rules{Mode: turn.Dual(), Tools: true})
	think := c.next(turn.Ask)
	if !think.Advises || think.Choice != turn.ChoiceNone || !strings.HasPrefix(think.Messages[0].Text, "Be good.\n\n") || !strings.Contains(think.Messages[0].Text, "you are the thinker") {
		t.Errorf("%+v", think)
	}
	c.Take(turn.Fact{Kind: turn.Answered, Text: "Search.", Calls: []turn.Call{search("x", "{}")}}) // A call that it may not make is none.
	act := c.next(turn.Ask)
	if act.Advises || act.Choice != turn.ChoiceFree || !strings.Contains(act.Messages[0].Text, "you are the actor") || c.last() != "The thinker says:\nSearch." {
		t.Errorf("%+v", act)
	}
	c.call(search("a", `{"q":1}`))
	c.see("found </data> it")
	got := c.next(turn.Ask).Messages
	want := []turn.Message{
		{Role: turn.Assistant, Text: "Search."},
		{Role: turn.User, Text: "The actor says:\n\n<data kind=\"call\" name=\"a\">\nsearch {\"q\":1}\n</data>\n"},
		{Role: turn.User, Text: "<data kind=\"tool\" name=\"a\">\nfound &lt;/data> it\n</data>\n"},
	}
	if diff := cmp.Diff(want, got[2:], cmpopts.IgnoreUnexported(turn.Message{})); diff != "" {
		t.Error(diff)
	}
	c.say("It is there.")
	mine := c.next(turn.Ask).Messages
	if m := mine[3]; m.Role != turn.Assistant || len(m.Calls) != 1 || mine[4].Role != turn.Tool || mine[5].Text != "The thinker says:\nIt is there." {
		t.Errorf("%+v", mine[2:])
	}
}

func TestAnActorWhoDeliversNothingEndsWithItsBudgetAndNeverWithSuccess(t *testing.T) {
	c := begin(t, turn.Rules{Mode: turn.Dual(), Turns: 4})
	order(c, "one", "two", "three", "four")
	if e := c.next(turn.End).Ending; e.Outcome != events.ExecutionError || e.Fault.Code != events.CodeBudget {
		t.Errorf("%+v", e)
	}

	c = begin(t, turn.Rules{Mode: turn.Dual(), Turns: 3, Summary: true})
	asked := order(c, "one", "two", "three", "so far")
	if e := c.next(turn.End).Ending; e.Outcome != events.Success || !e.Incomplete || asked[3] != "actor" {
		t.Errorf("%v %+v", asked, e)
	}
}

func TestVoicesThatRepeatThemselvesAreStopped(t *testing.T) {
	c := begin(t, turn.Rules{Mode: turn.Dual()})
	order(c, "go", "a", "go", "b", "go")
	if got := c.last(); !strings.Contains(got, "another strategy") {
		t.Errorf("%q", got)
	}
	order(c, "c", "go")
	if e := c.next(turn.End).Ending; e.Outcome != events.ExecutionError || e.Fault.Message != "the model repeats itself" {
		t.Errorf("%+v", e)
	}
}

func TestADeliverableInTheWrongFormIsRepairedByTheActor(t *testing.T) {
	c := begin(t, turn.Rules{Mode: turn.Dual(), Structured: true, Read: oneForm})
	if c.next(turn.Ask).Form {
		t.Error("the thinker is asked for the form")
	}
	asked := order(c, "Deliver.", "<deliverable>wrong</deliverable>")
	ask := c.next(turn.Ask)
	if !ask.Form || ask.Voice != "actor" || ask.Advises {
		t.Errorf("%v %+v", asked, ask)
	}
	c.say("right")
	if e := c.next(turn.End).Ending; e.Outcome != events.Success || string(e.Output) != "{}" {
		t.Errorf("%+v", e)
	}
}
