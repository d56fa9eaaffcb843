package planning_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// examples returns the objects in a prompt that begin a line.
func examples(t *testing.T, told string) (list []json.RawMessage) {
	t.Helper()
	for at := 0; at < len(told); {
		begin := strings.Index(told[at:], "\n{")
		if begin < 0 {
			return list
		}
		at += begin + 1
		var raw json.RawMessage
		if err := json.NewDecoder(strings.NewReader(told[at:])).Decode(&raw); err != nil {
			t.Fatalf("an example is no JSON: %v in %.200q", err, told[at:])
		}
		list, at = append(list, raw), at+len(raw)
	}
	return list
}

// drafting starts a planning and leads it to the draft.
func drafting(t *testing.T, name, goal string, change ...func(*planning.Start)) *stage {
	t.Helper()
	s := open(t, name, goal, change...)
	for s.looked(); s.Pending().Kind == planning.Call && s.Pending().Stage != planning.StageDraft; s.looked() {
		s.says(handed)
	}
	return s.owes(planning.Call, planning.StageDraft)
}

// A model repeats the example that it is shown, with its faults.
//
// proves V-weakness-15
func TestEveryExampleOfAPlanInAPromptIsAPlanThatPassesItsCheck(t *testing.T) {
	for _, locale := range []string{"en-US", "zh-CN"} {
		for _, name := range []string{"default", "graph", "assistant", "research", "steps"} {
			s := drafting(t, name, "gold", func(s *planning.Start) { s.Request.Locale = locale })
			shown := examples(t, s.told())
			if len(shown) == 0 {
				t.Errorf("%s, %s: no example of a plan in %s", name, locale, s.told())
			}
			for _, raw := range shown {
				made := plan.Check(raw, team(), plan.Options{MaxSteps: 20, Version: plan.Version})
				if len(made.Faults) > 0 {
					t.Errorf("%s, %s: %s\n%v", name, locale, raw, made.Faults)
				}
			}
		}
	}
}

// A request without an expert is not an error: the planner chooses one.
//
// proves V-weakness-5
// proves V-weakness-issue-151
// proves V-weakness-issue-174
func TestARequestThatNamesNobodyGoesToTheExpertThatFits(t *testing.T) {
	for _, name := range []string{"default", "assistant", "graph"} {
		s := drafting(t, name, "tell me when gold moves")
		contains(t, s.told(), "Price Monitor", "watches prices", "Researcher", "searches the web")
		e := s.says(`{"subjobs":[{"id":"a","goal":"watch gold","completion_criteria":"a price","expert":"Price Monitor"}],"adequate":true}`).ends(events.KindGraphCreated)
		if e.Plan.SubJobs[0].Expert != "monitor" {
			t.Errorf("%s: %+v", name, e.Plan.SubJobs)
		}
	}
}

// The planner knows what experts can do, so that it plans only what some expert can do.
//
// proves F-weakness-issue-501
// proves C11
func TestAPlannerKnowsWhatEveryExpertCanDo(t *testing.T) {
	for _, name := range []string{"default", "graph", "research"} {
		s := drafting(t, name, "gold")
		contains(t, s.told(), "web_search", "processing", "code", "analysis")
		if strings.Contains(s.told(), "Secret") || strings.Contains(s.told(), "- Off") {
			t.Errorf("%s: tells of experts that nobody may plan with", name)
		}
	}
}

// Fields that a model omits have defaults; those without one are requested once more, all missing fields together.
// proves F-weakness-issue-191
// proves F-weakness-issue-494
// proves F-weakness-issue-709
// proves F-weakness-issue-650
func TestFieldsThatAModelLeavesOutHaveDefaults(t *testing.T) {
	for _, raw := range []string{
		`{"steps":[{"title":"Gather","description":"prices","need_web_search":true}]}`,
		`{"title":"Gold","steps":[{"title":"Gather","description":"prices"}]}`,
		`{"locale":null,"has_enough_context":null,"thought":null,"title":null,"steps":[{"title":"Gather","description":"prices","step_type":null}]}`,
		`[{"title":"Gather","description":"prices","step_type":""}]`,
	} {
		e := open(t, "research", "gold").says(handed, raw).ends(events.KindGraphCreated)
		if step := e.Plan.SubJobs[0]; step.Type == "" || step.Expert == "" || e.Plan.Locale == "" {
			t.Errorf("%s: %+v", raw, e.Plan)
		}
	}
}

// Plannings share nothing: running many at once gives the same results as running each alone.
//
// proves F-weakness-d
// proves F-weakness-f
// proves F-weakness-v1-c
func TestSessionsAtOnceDoNotMeet(t *testing.T) {
	alone := open(t, "research", "gold", review).says(handed, research(false, gather, compute)).person("accept").ends(events.KindGraphCreated)
	want := musttest.JSON(t, alone)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			s := open(t, "research", "gold", review).says(handed, research(false, gather, compute)).person("accept")
			e, ok := s.Ended()
			if got, err := json.Marshal(e); !ok || err != nil || string(got) != string(want) {
				t.Errorf("%s\n%s", got, want)
			}
		})
	}
	all.Wait()
}

// A no is a no, whatever else the answer contains.
func TestARejectionWinsOverAPlanInTheSameAnswer(t *testing.T) {
	own := `"subjobs":[{"id":"z","goal":"must not run","expert":"Analyst"}]`
	for _, raw := range []string{
		`{"action":"reject","plan":{` + own + `}}`, `{"approved":false,"plan":{` + own + `}}`, `{"accepted":false,` + own + `}`,
		`{"action":"Reject",` + own + `}`, `["reject"]`, `"{\"action\":\"reject\",\"plan\":{\"steps\":[\"z\"]}}"`,
	} {
		s := open(t, "graph", "gold", review).says(`{"subjobs":[{"id":"a","goal":"g","completion_criteria":"c","expert":"Analyst"}]}`)
		s.looked()
		s.fact(planning.Fact{Kind: planning.Closed, Action: events.Answered, Answer: json.RawMessage(raw)}).ends(events.KindPlanRejected)
	}
	s := open(t, "graph", "gold", review).says(`{"subjobs":[{"id":"a","goal":"g","completion_criteria":"c","expert":"Analyst"}]}`)
	s.fact(planning.Fact{Kind: planning.Closed, Action: events.Answered, Answer: json.RawMessage(`["a","b"]`)}).owes(planning.Ask, planning.StageReview)
}

// Letters whose lower case has another length do not move the cut.
func TestAnEditIsTakenAsItIsWritten(t *testing.T) {
	for _, wish := range []string{strings.Repeat("Ⱥ", 14), strings.Repeat("\u212a", 6) + " please keep", "İstanbul first"} {
		for _, front := range []string{"edit: ", "Edit：", "[EDIT_PLAN]", "修改："} {
			s := open(t, "research", "gold", review).says(handed, research(false, gather)).person(front+wish).owes(planning.Call, planning.StageDraft)
			contains(t, s.told(), "- "+wish)
		}
	}
}

func TestAnEditBeyondTheLastRoundIsCalledThat(t *testing.T) {
	draft := `{"subjobs":[{"id":"a","goal":"g","completion_criteria":"c","expert":"Analyst"}]}`
	s := open(t, "graph", "gold", review).says(draft)
	shown := func() string { return s.asks[len(s.asks)-1].Prompt }
	for range most {
		if s.Pending().Kind == planning.Call {
			s.says(draft)
		} else if strings.Contains(shown(), "No round is left") {
			break
		}
		s.person("edit: more")
	}
	if !strings.Contains(shown(), "No round is left") || strings.Contains(shown(), "not understood") {
		t.Error(shown())
	}
	for s.Pending().Kind == planning.Ask {
		s.person("edit: more")
	}
	if e := s.ends(events.KindPlanRejected); !strings.Contains(e.Faults[0].Message, "no round was left") {
		t.Errorf("%+v", e.Faults)
	}
}

func TestWhoIsAskedAsOftenAsMayBeAndGivesNothingHasNoPlan(t *testing.T) {
	lacks := `{"adequate":false,"reason":"no","guidance_message":"which fund?","subjobs":[]}`
	s := drafting(t, "default", "please buy")
	for range most {
		switch s.Pending().Kind {
		case planning.Call:
			s.says(lacks)
		case planning.Ask:
			s.person("hm")
		}
		if s.Pending().Kind == planning.End {
			break
		}
	}
	if e := s.ends(events.KindPlanRejected); len(s.asks) == 0 || e.Faults[0].Code != events.CodeRejected || e.Faults[0].Message != "which fund?" {
		t.Errorf("asked %d times, %+v", len(s.asks), e.Faults)
	}
}
