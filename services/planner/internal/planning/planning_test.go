package planning

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestASentenceBecomesAPlan(t *testing.T) {
	k := begin(t, startOf("draw the schema"))
	k.owes(Call, "triage/1").says(handOn)
	k.owes(Call, "draft/1").says("Here you are:\n```json\n" + goodOne + "\n```")
	e := k.end(events.KindGraphCreated)
	if len(e.Plan.SubJobs) != 1 || e.Plan.SubJobs[0].Expert != "design" || e.Title != "A title" || e.Plan.Title != "T" || e.Calls != 2 || e.Rounds != 1 {
		t.Errorf("%+v", e)
	}
	var list []string
	for _, m := range k.State().Moves {
		list = append(list, fmt.Sprintf("%s:%s", m.From, m.On))
	}
	if got, want := strings.Join(list, " "), "begin:whole triage:handed on draft:valid"; got != want {
		t.Errorf("stages %s, want %s", got, want)
	}
}

func TestARepairGetsEveryFaultAndTheFaultyDraft(t *testing.T) {
	k := begin(t, startOf("g")).says(handOn).says(badOne)
	call := k.owes(Call, "draft/2").Pending().Call
	if n := len(call.Messages); n != 4 || call.Messages[2].Role != "assistant" || call.Messages[2].Text != badOne {
		t.Fatalf("%+v", call.Messages)
	}
	for _, want := range []string{"Nobody", `"z"`} {
		if !strings.Contains(call.Messages[3].Text, want) {
			t.Errorf("the lesson lacks %s: %s", want, call.Messages[3].Text)
		}
	}
	k.says(goodOne).end(events.KindGraphCreated)
}

func TestWithoutAnEarlierPlanTheLadderGivesTheBestExpert(t *testing.T) {
	k := begin(t, startOf("extract the entities of this text")).says(handOn).says(noise).says(noise)
	e := k.end(events.KindGraphCreated)
	if e.Fallback != RungSingle || e.Plan.SubJobs[0].Expert != "extract" || len(e.Warnings) == 0 {
		t.Errorf("%+v", e)
	}
}

func TestAModelThatCannotBeReachedIsATypedFailure(t *testing.T) {
	for class, code := range map[Class]events.Code{
		ClassUnavailable: events.CodeUnavailable, ClassAuth: events.CodeUnavailable, ClassNotFound: events.CodeUnavailable, ClassBadRequest: events.CodeUnavailable,
		ClassQuota: events.CodeUnavailable, ClassUnnamed: events.CodeUnavailable,
	} {
		k := begin(t, startOf("g")).fails(class)
		e := k.owes(Call, "draft/1").fails(class).end(events.KindPlanRejected)
		if len(e.Faults) != 1 || e.Faults[0].Code != code || e.Faults[0].Hint == "" {
			t.Errorf("%s: %+v", class, e.Faults)
		}
	}
}

// Most addresses that do not answer are wrong ones.
func TestAModelThatIsNotReachedIsLookedForAtItsAddress(t *testing.T) {
	if f := failure(&Fact{Class: ClassUnavailable, Message: "connection refused"}); !strings.Contains(f.Hint, "OPENAI_BASE_URL") {
		t.Error(f.Hint)
	}
}

func TestWithoutAModelTheGoalIsAnsweredByGuidance(t *testing.T) {
	start := startOf("g")
	start.Model = false
	e := begin(t, start).end(events.KindPlanRejected)
	if e.Faults[0].Code != events.CodeNoPlanner || e.Faults[0].Hint == "" {
		t.Errorf("%+v", e)
	}
}

func TestAPlanOfTheCallerNeedsNoModelAndWaitsForItsExperts(t *testing.T) {
	start := startOf("")
	start.Model, start.Cards = false, nil
	start.Request.Plan = []byte(goodOne)
	k := begin(t, start).owes(Await, "given/1")
	k.fact(Fact{Kind: Cards, Cards: cards()[1:]}).owes(Await, "given/2")
	k.fact(Fact{Kind: Cards, Cards: cards()}).end(events.KindGraphCreated)

	k = begin(t, start).fact(Fact{Kind: Cards, Waited: true})
	if e := k.end(events.KindPlanRejected); e.Faults[0].Code != events.CodeUnknownExpert {
		t.Errorf("%+v", e)
	}
}

func TestFactsThatAnswerNothingChangeNothing(t *testing.T) {
	s := New(startOf("g"), ports())
	for _, f := range []Fact{
		{Key: "draft/1", Kind: Answered}, {Key: "triage/1", Kind: Closed}, {Key: "triage/1", Kind: Found}, {Kind: Answered}, {Key: "triage/1"},
	} {
		if s.Apply(f) {
			t.Errorf("%+v was applied", f)
		}
	}
	if s.Pending().Key != "triage/1" {
		t.Error(s.Pending())
	}
	s.Apply(Fact{Key: "triage/1", Kind: Answered, Text: handOn, Run: 1, Spent: events.Spent{Tokens: 5}})
	s.Apply(Fact{Key: "triage/1", Kind: Answered, Text: handOn, Run: 1, Spent: events.Spent{Tokens: 5}})
	if s.Spent(1).Tokens != 5 || s.Spent(2).Tokens != 0 {
		t.Error(s.Spent(1))
	}
}

// proves F2
func TestAPersonIsAskedWhatIsMeantWithinTheLimit(t *testing.T) {
	unclear := `{"decision":"clarify","question":"Which one?","options":["a","b"]}`
	k := begin(t, startOf("compare databases")).says(unclear)
	ask := k.owes(Ask, "clarify/1").Pending().Ask
	if ask.Request != "p1-clarify-1" || ask.Kind != events.InputClarification || ask.Prompt != "Which one?" || len(ask.Options) != 2 {
		t.Errorf("%+v", ask)
	}
	k.person("graph databases").owes(Call, "triage/2").says(unclear).owes(Ask, "clarify/2").person("speed")
	k.owes(Call, "draft/1") // The limit is reached: planning continues with everything said so far.
	if got, want := k.State().Query, "compare databases - graph databases, speed"; got != want {
		t.Errorf("query %q, want %q", got, want)
	}
	k.says(goodOne).end(events.KindGraphCreated)
}
