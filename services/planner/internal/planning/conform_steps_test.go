package planning_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// proves O-T2
// proves O-weakness-issue-583
// proves O10
func TestWithoutAPlanThereIsTheDefaultPlan(t *testing.T) {
	long := strings.Repeat("длинный ", 20)
	for _, answer := range []string{"I would rather talk.", "", `{"steps":"x"}`} {
		s := open(t, "steps", long).says(answer)
		e := s.ends(events.KindGraphCreated)
		if e.Fallback != planning.RungSteps || len(e.Plan.SubJobs) != 3 || len(s.calls) != 1 || len(e.Warnings) == 0 {
			t.Errorf("%+v", e)
		}
		if want := "Plan for: " + string([]rune(long)[:50]) + "…"; e.Plan.Title != want {
			t.Errorf("title %q, want %q", e.Plan.Title, want)
		}
		var goals []string
		for i, step := range e.Plan.SubJobs {
			goals = append(goals, step.Goal)
			if i > 0 && len(step.Dependencies) != 1 || step.Expert != "researcher" {
				t.Errorf("%+v", step)
			}
		}
		if strings.Join(goals, ", ") != "Analyze request, Execute task, Verify results" {
			t.Error(goals)
		}
	}
	if e := open(t, "steps", "short").says("").ends(events.KindGraphCreated); e.Plan.Title != "Plan for: short" {
		t.Error(e.Plan.Title)
	}
	if e := open(t, "steps", "分析这份数据").says("").ends(events.KindGraphCreated); e.Plan.Title != "计划：分析这份数据" || e.Plan.SubJobs[0].Goal != "分析请求" {
		t.Errorf("%+v", e.Plan)
	}
}

// proves O-T3
func TestBadArgumentsGiveTheDefaultPlan(t *testing.T) {
	for _, bad := range []string{`{"title":"T","steps":[1,2`, `{"title":"T","steps":[{},7]}`, `{"command":"create"}`} {
		if e := open(t, "steps", "g").says(bad).ends(events.KindGraphCreated); e.Fallback != planning.RungSteps {
			t.Errorf("%s: %+v", bad, e)
		}
	}
}

// proves O-T4
// proves O-weakness-issue-1082
// proves O-weakness-5
func TestEmptyStepsAreAClearFault(t *testing.T) {
	e := open(t, "steps", "g").says(`{"title":"T","steps":[]}`).ends(events.KindGraphCreated)
	if e.Fallback != planning.RungSteps || e.Warnings[0].Field != "steps" || !strings.Contains(e.Warnings[0].Message, "the plan has no steps") {
		t.Errorf("%+v", e)
	}
	given := open(t, "steps", "g", func(s *planning.Start) { s.Request.Plan = json.RawMessage(`{"title":"T","steps":[]}`) }).ends(events.KindPlanRejected)
	if given.Faults[0].Code != events.CodeMissing || !strings.Contains(given.Faults[0].Message, "the plan has no steps") {
		t.Errorf("%+v", given.Faults)
	}
}

// proves O-T5
// proves O-weakness-4
// proves O7
func TestTagsChooseTheExpertInAnyCaseAndWithDigits(t *testing.T) {
	e := open(t, "steps", "g").says(`{"title":"T","steps":["[CODER2] one","[coder2] two","[Coder 2] three","[nobody] four","five","6. [analysis] six"]}`).ends(events.KindGraphCreated)
	var got []string
	for _, s := range e.Plan.SubJobs {
		got = append(got, s.Expert)
	}
	if strings.Join(got, " ") != "coder2 coder2 coder2 researcher researcher analyst" {
		t.Error(got)
	}
	if e.Plan.SubJobs[0].Goal != "one" || len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0].Message, "nobody") {
		t.Errorf("%+v %v", e.Plan.SubJobs[0], e.Warnings)
	}
}

// proves O-T12
// proves O-weakness-5
func TestOneRequestCanBePlannedTwice(t *testing.T) {
	plan := `{"title":"T","steps":["a","b"]}`
	first := open(t, "steps", "g").says(plan).ends(events.KindGraphCreated)
	second := open(t, "steps", "g").says(plan).ends(events.KindGraphCreated)
	a, errA := json.Marshal(first)
	b, errB := json.Marshal(second)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("%s\n%s", a, b)
	}
}

// proves O5
func TestTheAgentsAreToldWithTheRuleOfTheirTags(t *testing.T) {
	contains(t, open(t, "steps", "g").told(), "in brackets and capitals", "[analyst]"[1:8], "Coder 2")
	alone := open(t, "steps", "g", func(s *planning.Start) { s.Cards = team()[:1] })
	if strings.Contains(alone.told(), "in brackets") {
		t.Error("one agent alone needs no tags")
	}
}
