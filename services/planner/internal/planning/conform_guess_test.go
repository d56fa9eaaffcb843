package planning_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/lenient/mistake"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// twoWays is a plan whose only step depends on one step or on two.
var twoWays = strings.Replace("{"+task("subtask_1", "Researcher")+"}", "[]", "[a b]", 1)

// proves F5
func TestAPlanThatIsAGuessIsAskedForAgainWithThePlaceNamed(t *testing.T) {
	s := open(t, "graph", "g").says(twoWays).owes(planning.Call, planning.StageDraft)
	contains(t, s.told(), "can be read in more than one way", "line 1, column", "[a b]")
	s.says("{" + task("subtask_1", "Researcher") + "}").ends(events.KindGraphCreated)
	if len(s.calls) != 2 {
		t.Errorf("%d calls", len(s.calls))
	}
}

func TestGuessesInEveryDraftEndInATypedFailure(t *testing.T) {
	e := open(t, "graph", "g").says(twoWays, twoWays).ends(events.KindPlanRejected)
	if e.Plan != nil || e.Faults[0].Code != events.CodeMalformed || !strings.Contains(e.Faults[0].Cause, "line 1, column") {
		t.Errorf("%+v", e)
	}
}

func TestARecordOfAnOlderPlannerTakesTheLikeliestReading(t *testing.T) {
	text := `{"a": {"goal": "g" alone, "context": "c", "completion_criteria": "cc", "dependencies": [], "assigned_expert": "Researcher", "thinking": "t"}}`
	e := open(t, "graph", "g", func(s *planning.Start) { s.Careful = false }).says(text).ends(events.KindGraphCreated)
	if len(e.Plan.SubJobs) != 1 || !strings.Contains(e.Plan.SubJobs[0].Goal, "alone") {
		t.Errorf("%+v", e.Plan.SubJobs)
	}
	open(t, "graph", "g").says(text).owes(planning.Call, planning.StageDraft)
}

// dialects are the profiles that ask for plans in a schema of the corpus.
var dialects = map[string]string{
	"plan-native": "default", "plan-deer-go": "research", "plan-valuecell": "assistant", "plan-openmanus": "steps", "plan-chat2graph": "graph",
}

// decided returns what a planning makes of one draft: its plan, or "" if it asks for another one. guess is true if it does so
// because the draft is ambiguous.
func decided(t *testing.T, profile, text string) (plan string, guess bool) {
	t.Helper()
	s := open(t, profile, "g", func(s *planning.Start) {
		s.Cards = []events.Card{{ID: "researcher", Name: "researcher", Tags: []string{"default"}}, {ID: "coder", Name: "coder"}, {ID: "writer", Name: "writer"}}
		s.Profile.Stages = slices.DeleteFunc(slices.Clone(s.Profile.Stages), func(stage planning.Stage) bool { return stage != planning.StageDraft })
		s.Profile.Fallback = nil
	})
	s.says(text)
	if len(s.State().Faults) > 0 {
		return "", strings.Contains(s.State().Faults[0].Message, "more than one way")
	}
	e, ended := s.Ended()
	if !ended {
		return "", false
	}
	raw := musttest.JSON(t, e.Plan)
	return string(raw), false
}

// proves F5
func TestNoPlanWithAMistakeBecomesAnotherPlan(t *testing.T) {
	cases := musttest.Get(mistake.Cases())(t)
	wanted := map[string]string{}
	plans, guesses, refused := 0, 0, 0
	for _, c := range cases {
		profile := dialects[c.Schema]
		if profile == "" {
			continue
		}
		if _, known := wanted[c.Want]; !known {
			wanted[c.Want], _ = decided(t, profile, c.Want)
		}
		got, guess := decided(t, profile, c.Text)
		plans++
		switch {
		case guess:
			guesses++
		case got == "":
			refused++
		case got != wanted[c.Want]:
			t.Errorf("%s in %s:\n%s\n got %s\nwant %s", c.Kind, c.Document, c.Text, got, wanted[c.Want])
		}
	}
	t.Logf("%d plans with one mistake each: %d calls for guesses per 1,000, %d for other faults", plans, 1000*guesses/plans, 1000*refused/plans)
	if guesses*10 > plans {
		t.Errorf("%d of %d plans are guesses", guesses, plans)
	}
}
