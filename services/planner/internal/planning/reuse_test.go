package planning_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

const oneTask = `{"title":"Pi","steps":["[CODER2] compute pi to ten digits"]}`

// cached allows plans of earlier jobs.
func cached(s *planning.Start) { yes := true; s.Request.PlanCache = &yes }

// reusing starts with a stored plan.
func reusing(p *events.Plan) func(*planning.Start) {
	return func(s *planning.Start) {
		s.Reused = &planning.Reused{Plan: p, Job: "j1", Made: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
	}
}

func TestAPlanIsTakenFromTheJobBefore(t *testing.T) {
	first := open(t, "steps", "compute pi", cached).says(oneTask)
	made, over := first.Ended()
	if !over || made.Keep == nil || made.Reused {
		t.Fatalf("%+v", made)
	}
	again := open(t, "steps", "compute pi", cached, reusing(made.Keep))
	end, over := again.Ended()
	if !over || len(again.calls) > 0 || !end.Reused || end.Keep != nil || len(end.Warnings) != 1 {
		t.Fatalf("asked %d times, ended with %+v", len(again.calls), end)
	}
	musttest.Equal(t, made.Plan, end.Plan)
	want := events.Fault{Code: "reused", Field: "plan_cache", Message: "the plan was made for job j1 at 2026-11-20T09:00:00Z", Hint: `"plan_cache": false makes a new plan`}
	musttest.Equal(t, want, end.Warnings[0])
	raw := musttest.JSON(t, again.start)
	var recorded planning.Start
	musttest.Decode(t, raw, &recorded)
	later := planning.Fold(recorded, again.ports, nil)
	if d := cmp.Diff(again.State(), later.State()); d != "" {
		t.Error("folded from the record:", d)
	}
}

func TestAPersonStillSeesThePlanOfTheJobBefore(t *testing.T) {
	no := false
	s := open(t, "steps", "compute pi", cached, reusing(&events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "g", Expert: "coder2"}}}),
		func(s *planning.Start) { s.Request.AutoAccept = &no })
	if len(s.asks) != 1 || s.asks[0].Kind != events.InputReview {
		t.Fatalf("%+v", s.Pending())
	}
	s.fact(planning.Fact{Kind: planning.Closed, Action: events.Answered, Answer: json.RawMessage(`"[EDIT_PLAN] two steps"`)})
	if len(s.calls) != 1 {
		t.Errorf("his wish is not worked in: %+v", s.Pending())
	}
	s.says(oneTask)
	s.fact(planning.Fact{Kind: planning.Closed, Action: events.Answered, Answer: json.RawMessage(`"ok"`)})
	if end, over := s.Ended(); !over || end.Keep != nil {
		t.Errorf("what a person wished is kept for others: %+v", end)
	}
}

func TestWhatWasLookedUpBelongsToItsJob(t *testing.T) {
	s := open(t, "graph", "compute pi", cached) // Its profile asks for the state of the system.
	s.fact(planning.Fact{Kind: planning.Found, Findings: []planning.Finding{{Source: "query_system_status", Text: "busy"}}})
	s.says(`{"subtask_1":{"goal":"compute pi to ten digits","context":"c","completion_criteria":"d","dependencies":[],"assigned_expert":"Coder 2","thinking":"t"}}`)
	if end, over := s.Ended(); !over || end.Plan == nil || end.Keep != nil {
		t.Errorf("%+v", end)
	}
}

func TestAPlanThatNoLongerPassesIsMadeAnew(t *testing.T) {
	for _, p := range []*events.Plan{nil, {}, {SubJobs: []events.SubJob{{ID: "a", Goal: "g", Expert: "gone"}}}} {
		if s := open(t, "steps", "compute pi", cached, reusing(p)); len(s.calls) != 1 {
			t.Errorf("%+v: %+v", p, s.Pending())
		}
	}
	if s := open(t, "steps", "compute pi", reusing(&events.Plan{SubJobs: []events.SubJob{{ID: "a", Goal: "g", Expert: "coder2"}}})); len(s.calls) != 1 {
		t.Error("a plan is reused that nobody asked for")
	}
}

func TestWhatWasMadeUpForWantOfAPlanIsNotKept(t *testing.T) {
	s := open(t, "steps", "compute pi", cached).says("no plan")
	if end, over := s.Ended(); !over || end.Plan == nil || end.Keep != nil {
		t.Errorf("%+v", end)
	}
}

func TestTheReuseKeyIsThatOfRequestAndExperts(t *testing.T) {
	key := func(change ...func(*planning.Start)) string {
		t.Helper()
		return open(t, "steps", "compute pi", append([]func(*planning.Start){cached}, change...)...).start.ReuseKey()
	}
	base := key()
	yes, no := true, false
	for name, change := range map[string]func(*planning.Start){
		"id": func(s *planning.Start) { s.Request.ID = "j9" }, "user": func(s *planning.Start) { s.Request.User = "u" },
		"session": func(s *planning.Start) { s.Request.Session = "s" }, "labels": func(s *planning.Start) { s.Request.Labels = map[string]string{"a": "b"} },
		"accept": func(s *planning.Start) { s.Request.AutoAccept = &no }, "now": func(s *planning.Start) { s.Now = s.Now.Add(time.Hour) },
		"prefix": func(s *planning.Start) { s.Prefix = "p2" }, "blanks": func(s *planning.Start) { s.Request.Goal = " compute pi\n" },
		"profile's wish": func(s *planning.Start) { s.Request.PlanCache = &yes },
	} {
		if got := key(change); got != base || got == "" {
			t.Errorf("%s makes another key", name)
		}
	}
	for name, change := range map[string]func(*planning.Start){
		"goal": func(s *planning.Start) { s.Request.Goal = "compute e" }, "context": func(s *planning.Start) { s.Request.Context = "c" },
		"inputs":  func(s *planning.Start) { s.Request.Inputs = map[string]json.RawMessage{"n": json.RawMessage("1")} },
		"prompts": func(s *planning.Start) { s.Version = "2" }, "model": func(s *planning.Start) { s.ModelName = "other" },
		"a card gone": func(s *planning.Start) { s.Cards = s.Cards[1:] },
		"a card told": func(s *planning.Start) { s.Cards = team(); s.Cards[1].Description = "computes slowly" },
		"limit":       func(s *planning.Start) { s.MaxSteps = 3 },
		"locale":      func(s *planning.Start) { s.Request.Locale = "zh-CN" },
	} {
		if got := key(change); got == base || got == "" {
			t.Errorf("%s keeps the key", name)
		}
	}
	for name, change := range map[string]func(*planning.Start){
		"no": func(s *planning.Start) { s.Request.PlanCache = &no }, "no model": func(s *planning.Start) { s.Model = false },
		"a plan":    func(s *planning.Start) { s.Request.Plan = json.RawMessage(`{}`) },
		"an expert": func(s *planning.Start) { s.Request.Expert = "coder2" },
		"history":   func(s *planning.Start) { s.History = []planning.Turn{{User: "hello"}} },
		"a lesson":  func(s *planning.Start) { s.Lessons = []string{"l"} },
		"a split":   func(s *planning.Start) { s.Mode = events.WorkReplan },
		"nobody's wish": func(s *planning.Start) {
			s.Request.PlanCache = nil
			s.Profile.Cache = 0
		},
	} {
		if got := key(change); got != "" {
			t.Errorf("%s still has a key", name)
		}
	}
	if s := open(t, "graph", "g", func(s *planning.Start) { s.Profile.Cache = events.Duration(time.Hour) }).start; s.ReuseKey() == "" || s.ReuseFor() != time.Hour {
		t.Error("the profile's wish is not heard")
	}
}
