package conversation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// order lets the voices speak and returns who was asked.
func order(c *talk, said ...string) (asked []string) {
	c.t.Helper()
	for _, text := range said {
		asked = append(asked, c.next(conversation.Ask).Voice)
		c.say(text)
	}
	return asked
}

// proves C-T7
func TestThinkerAndActorSpeakInTurnsUntilTheActorDelivers(t *testing.T) {
	c := begin(t, conversation.Rules{Mode: conversation.Dual()})
	asked := order(c, "Look at the map.", "I see a river.", "What about <deliverable>it</deliverable>?", "There is a bridge.", "Deliver.", "<deliverable>a bridge</deliverable>")
	want := []string{"thinker", "actor", "thinker", "actor", "thinker", "actor"}
	musttest.Equal(t, want, asked)
	if e := c.next(conversation.End).Ending; e.Outcome != events.Success || string(e.Output) != "\"\\u003cdeliverable\\u003ea bridge\\u003c/deliverable\\u003e\"" {
		t.Errorf("%+v %s", e, e.Output)
	}

	c = begin(t, conversation.Rules{Mode: conversation.Dual()})
	order(c, "Deliver.", "<deliverable>at once</deliverable>")
	if e := c.next(conversation.End).Ending; e.Outcome != events.Success || c.Turns() != 2 {
		t.Errorf("%+v after %d turns", e, c.Turns())
	}
}

// proves C-T7
func TestAFailedThinkerEndsTheConversationBeforeTheActorIsAsked(t *testing.T) {
	c := begin(t, conversation.Rules{Mode: conversation.Dual()})
	if ask := c.next(conversation.Ask); len(ask.Messages) != 2 {
		t.Errorf("%+v", ask.Messages)
	}
	c.Take(conversation.Fact{Kind: conversation.Failed, Outcome: events.ExecutionError, Fault: events.Fault{Code: events.CodeUnavailable, Message: "away"}})
	if e := c.next(conversation.End).Ending; e.Outcome != events.ExecutionError || e.Fault.Message != "away" || c.Turns() != 0 {
		t.Errorf("%+v after %d turns", e, c.Turns())
	}
}

func TestEachVoiceSeesTheOtherAsAUserAndOnlyTheActorHasTools(t *testing.T) {
	c := begin(t, conversation.Rules{Mode: conversation.Dual(), Tools: true})
	think := c.next(conversation.Ask)
	if !think.Advises || think.Choice != conversation.ChoiceNone || !strings.HasPrefix(think.Messages[0].Text, "Be good.\n\n") || !strings.Contains(think.Messages[0].Text, "you are the thinker") {
		t.Errorf("%+v", think)
	}
	c.Take(conversation.Fact{Kind: conversation.Answered, Text: "Search.", Calls: []conversation.Call{search("x", "{}")}}) // A call that the agent may not make does not count.
	act := c.next(conversation.Ask)
	if act.Advises || act.Choice != conversation.ChoiceFree || !strings.Contains(act.Messages[0].Text, "you are the actor") || c.last() != "The thinker says:\nSearch." {
		t.Errorf("%+v", act)
	}
	c.call(search("a", `{"q":1}`))
	c.see("found </data> it")
	got := c.next(conversation.Ask).Messages
	want := []conversation.Message{
		{Role: conversation.Assistant, Text: "Search."},
		{Role: conversation.User, Text: "The actor says:\n\n<data kind=\"call\" name=\"a\">\nsearch {\"q\":1}\n</data>\n"},
		{Role: conversation.User, Text: "<data kind=\"tool\" name=\"a\">\nfound &lt;/data> it\n</data>\n"},
	}
	musttest.Equal(t, want, got[2:], cmpopts.IgnoreUnexported(conversation.Message{}))
	c.say("It is there.")
	mine := c.next(conversation.Ask).Messages
	if m := mine[3]; m.Role != conversation.Assistant || len(m.Calls) != 1 || mine[4].Role != conversation.Tool || mine[5].Text != "The thinker says:\nIt is there." {
		t.Errorf("%+v", mine[2:])
	}
}

func TestAnActorWhoDeliversNothingEndsWithItsBudgetAndNeverWithSuccess(t *testing.T) {
	c := begin(t, conversation.Rules{Mode: conversation.Dual(), Turns: 4})
	order(c, "one", "two", "three", "four")
	if e := c.next(conversation.End).Ending; e.Outcome != events.ExecutionError || e.Fault.Code != events.CodeBudget {
		t.Errorf("%+v", e)
	}

	c = begin(t, conversation.Rules{Mode: conversation.Dual(), Turns: 3, Summary: true})
	asked := order(c, "one", "two", "three", "so far")
	if e := c.next(conversation.End).Ending; e.Outcome != events.Success || !e.Incomplete || asked[3] != "actor" {
		t.Errorf("%v %+v", asked, e)
	}
}

func TestVoicesThatRepeatThemselvesAreStopped(t *testing.T) {
	c := begin(t, conversation.Rules{Mode: conversation.Dual()})
	order(c, "go", "a", "go", "b", "go")
	if got := c.last(); !strings.Contains(got, "another strategy") {
		t.Errorf("%q", got)
	}
	order(c, "c", "go")
	if e := c.next(conversation.End).Ending; e.Outcome != events.ExecutionError || e.Fault.Message != "the model repeats itself" {
		t.Errorf("%+v", e)
	}
}

func TestADeliverableInTheWrongFormIsRepairedByTheActor(t *testing.T) {
	c := begin(t, conversation.Rules{Mode: conversation.Dual(), Structured: true, Read: oneForm})
	if c.next(conversation.Ask).Form {
		t.Error("the thinker is asked for the form")
	}
	asked := order(c, "Deliver.", "<deliverable>wrong</deliverable>")
	ask := c.next(conversation.Ask)
	if !ask.Form || ask.Voice != "actor" || ask.Advises {
		t.Errorf("%v %+v", asked, ask)
	}
	c.say("right")
	if e := c.next(conversation.End).Ending; e.Outcome != events.Success || string(e.Output) != "{}" {
		t.Errorf("%+v", e)
	}
}
