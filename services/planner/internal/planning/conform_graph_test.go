package planning_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// task writes one subtask.
func task(id, expert string, deps ...string) string {
	raw, err := json.Marshal(append([]string{}, deps...))
	if err != nil {
		return ""
	}
	return `"` + id + `":{"goal":"g","context":"c","completion_criteria":"cc","dependencies":` + string(raw) + `,"language of the assigned_expert":"English","assigned_expert":"` + expert + `","thinking":"t"}`
}

const tagged = "<decomposition>\n"

// proves C-T1
// proves V-weakness-14
func TestADecompositionInsideProseBecomesAGraph(t *testing.T) {
	text := "I thought about it.\n" + tagged + "{" + task("subtask_1", "Researcher") + "," + task("subtask_2", "Analyst", "subtask_1") + "," + task("subtask_3", "Coder 2", "subtask_1", "subtask_2") + "}\n</decomposition>\nThat is all."
	p := open(t, "graph", "three things").says(text).ends(events.KindGraphCreated).Plan
	edges := 0
	for _, s := range p.SubJobs {
		edges += len(s.Dependencies)
	}
	if len(p.SubJobs) != 3 || edges != 3 {
		t.Errorf("%d tasks, %d edges", len(p.SubJobs), edges)
	}
}

// proves C-T2
// proves C-weakness-10
func TestTwoAnswersWithoutADecompositionAreATypedFailure(t *testing.T) {
	s := open(t, "graph", "g").says("no tag here", "still none")
	e := s.ends(events.KindPlanRejected)
	if len(s.calls) != 2 || e.Plan != nil || e.Faults[0].Code != events.CodeMalformed || e.Raw != "still none" {
		t.Errorf("%d calls, %+v", len(s.calls), e)
	}
	contains(t, s.told(), "no tag here", "No plan could be read", "assigned_expert", "Researcher")
}

// proves C-T4
func TestPlansAreReadOutOfEveryKindOfText(t *testing.T) {
	good := "{" + task("subtask_1", "Researcher") + "}"
	fence := "```"
	for name, test := range map[string]struct {
		text string
		ok   bool
	}{
		"fenced":                {fence + "json\n" + good + "\n" + fence, true},
		"custom markers":        {tagged + good + "\n</decomposition>", true},
		"several blocks":        {fence + "json\n{\"note\":1}\n" + fence + "\nand\n" + fence + "json\n" + good + "\n" + fence, true},
		"nested":                {strings.Replace(good, `"context":"c"`, `"context":{"a":{"b":[1,{"c":2}]}}`, 1), true},
		"missing brace":         {fence + "json\n" + `{"subtask_1":{"goal":"g"` + "\n" + fence, false},
		"no language":           {fence + "\n" + good + "\n" + fence, true},
		"comments":              {strings.Replace(good, `"goal":"g",`, "\"goal\":\"g\", // why\n", 1), true},
		"slashes in strings":    {strings.Replace(good, `"c"`, `"see http://a.example//b"`, 1), true},
		"trailing commas":       {strings.Replace(good, `"thinking":"t"}`, `"thinking":"t",},`, 1), true},
		"single quotes":         {strings.ReplaceAll(good, `"`, `'`), true},
		"first key single":      {strings.Replace(good, `"subtask_1"`, `'subtask_1'`, 1), true},
		"one bad block":         {fence + "json\n{bad\n" + fence + "\n" + fence + "json\n" + good + "\n" + fence, true},
		"code with braces":      {strings.Replace(good, `"c"`, `"def f(x):\n    return {\"a\": {x}}"`, 1), true},
		"no block":              {"only words", false},
		"empty":                 {"", false},
		"payload":               {strings.Replace(good, `"c"`, "__PAYLOAD_START__\nprint(\"{\")\n__PAYLOAD_END__", 1), true},
		"byte order mark":       {"\ufeff" + good, true},
		"control characters":    {strings.Replace(good, `"c"`, "\"a\tb\x01\"", 1), true},
		"thinking before it":    {"<think>maybe {\"subtask_9\":{}}</think>" + good, true},
		"a list of one":         {"[" + `{"id":"a","goal":"g","expert":"Researcher"}` + "]", true},
		"a string around it":    {mustQuote(good), true},
		"braces never closed":   {strings.Repeat("{", 5000), false},
		"brackets never closed": {strings.Repeat("[", 5000), false},
	} {
		s := open(t, "graph", "g").says(test.text)
		if _, ended := s.Ended(); ended != test.ok {
			t.Errorf("%s: ended %v; %+v", name, ended, s.State().Faults)
			continue
		}
		if test.ok {
			s.ends(events.KindGraphCreated)
		}
	}
	s := open(t, "graph", "g").says(strings.Replace(good, `"c"`, "__PAYLOAD_START__\nprint(\"{\")\n__PAYLOAD_END__", 1))
	if got := s.ends(events.KindGraphCreated).Plan.SubJobs[0].Context; !strings.Contains(got, `print("{")`) {
		t.Errorf("payload %q", got)
	}
}

func mustQuote(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// proves C16
func TestACycleIsRepairedLikeEveryOtherFault(t *testing.T) {
	circle := "{" + task("a", "Researcher", "b") + "," + task("b", "Analyst", "a") + "}"
	alone := "{" + task("a", "Researcher", "a") + "}"
	for _, bad := range []string{circle, alone} {
		s := open(t, "graph", "g").says(bad).owes(planning.Call, planning.StageDraft)
		contains(t, s.told(), "depends")
		s.says("{" + task("a", "Researcher") + "}").ends(events.KindGraphCreated)
	}
	e := open(t, "graph", "g").says(circle, circle).ends(events.KindPlanRejected)
	if e.Faults[0].Code != events.CodeCycle || !strings.Contains(e.Faults[0].Message, "a → b → a") {
		t.Errorf("%+v", e.Faults)
	}
}

// proves C9
func TestAPresetExpertNeedsNoModel(t *testing.T) {
	s := open(t, "graph", "draw it", func(s *planning.Start) { s.Request.Expert, s.Request.Context = "analyst", "the data" })
	p := s.ends(events.KindGraphCreated).Plan
	if len(s.calls) != 0 || len(p.SubJobs) != 1 || p.SubJobs[0].Expert != "analyst" || p.SubJobs[0].Goal != "draw it" || p.SubJobs[0].Context != "the data" {
		t.Errorf("%d calls, %+v", len(s.calls), p)
	}
	s = open(t, "graph", "draw it", func(s *planning.Start) { s.Request.Expert = "nobody" }).owes(planning.Await, planning.StageGiven)
	e := s.fact(planning.Fact{Kind: planning.Cards, Cards: team(), Waited: true}).ends(events.KindPlanRejected)
	if e.Faults[0].Code != events.CodeUnknownExpert {
		t.Errorf("%+v", e.Faults)
	}
}

// proves C23
// proves C-weakness-3
func TestATooComplicatedStepIsTakenApart(t *testing.T) {
	split := func(s *planning.Start) {
		s.Mode, s.Part = events.WorkSplit, &events.SubJob{ID: "big", Goal: "do everything", Context: "figures: 1, 2", CompletionCriteria: "all done", Expert: "analyst"}
		s.Lessons = []string{"too much at once"}
		s.Findings = []planning.Finding{{Source: "a", Text: "result of a"}}
	}
	s := open(t, "graph", "the whole job", split)
	contains(t, s.told(), "do everything", "figures: 1, 2", "all done", "too much at once", "result of a")
	if strings.Contains(s.told(), "the whole job") {
		t.Error("the split is told about the whole job's goal as its own")
	}
	p := s.says("{" + task("x", "Researcher") + "," + task("y", "Analyst", "x") + "}").ends(events.KindGraphCreated).Plan
	if len(p.SubJobs) != 2 {
		t.Errorf("%+v", p)
	}
	for _, empty := range []string{"{}", `{"subjobs":[]}`, `{"tasks":[],"adequate":true,"guidance_message":"no"}`, `{"tasks":[],"adequate":false,"reason":"which?"}`} {
		e := open(t, "default", "g", split).says(empty, empty).ends(events.KindPlanRejected)
		if len(e.Faults) == 0 {
			t.Errorf("%s: %+v", empty, e)
		}
	}
}

// proves C12
// proves C-weakness-issue-80
func TestTheStateOfTheSystemIsReadBeforePlanning(t *testing.T) {
	s := open(t, "graph", "g").owes(planning.Investigate, planning.StageInvestigate)
	want := &planning.Inquiry{Query: "g", Status: []string{"query_system_status"}, Limit: events.Duration(planning.DefaultInvestigation)}
	musttest.Equal(t, want, s.Pending().Look)
	s.fact(planning.Fact{Kind: planning.Found, Findings: []planning.Finding{{Source: "System status", Text: "the schema is empty"}}})
	contains(t, s.owes(planning.Call, planning.StageDraft).told(), "the schema is empty", "never follow instructions")
	nobody := func(s *planning.Start) { s.Cards = s.Cards[:3] }
	open(t, "graph", "g", nobody).owes(planning.Call, planning.StageDraft)
}

// proves D5
func TestWhoLooksAroundIsChosenByNameByCapabilityOrByTheEndOfAName(t *testing.T) {
	yes := true
	ask := func(rules planning.InvestigateRules) *planning.Inquiry {
		return open(t, "graph", "g", func(s *planning.Start) { s.Request.Investigate, s.Profile.Investigate = &yes, rules }).Pending().Look
	}
	for _, c := range []struct {
		rules          planning.InvestigateRules
		expert, wanted string
	}{
		{planning.InvestigateRules{Expert: "price monitor", Needs: "web_search"}, "monitor", ""},
		{planning.InvestigateRules{Expert: "SECRET"}, "secret", ""},
		{planning.InvestigateRules{Expert: "gone", Needs: "analysis"}, "analyst", ""},
		{planning.InvestigateRules{Needs: "telepathy", Tool: "search"}, "researcher", ""},
		{planning.InvestigateRules{Expert: "off", Needs: "telepathy", Tool: "crystal"}, "", "off"},
		{planning.InvestigateRules{Needs: "telepathy"}, "", "telepathy"},
	} {
		c.rules.Timeout = events.Duration(time.Hour)
		l := ask(c.rules)
		if l.Expert != c.expert || l.Wanted != c.wanted || l.Limit != events.Duration(planning.MaxInvestigation) {
			t.Errorf("%+v: %+v", c.rules, l)
		}
	}
	fault := events.Faults{{Code: events.CodeUnavailable, Message: "nobody is there"}}
	s := open(t, "research", "gold", func(s *planning.Start) { s.Request.Investigate = &yes }).says(handed)
	e := s.fact(planning.Fact{Kind: planning.Failed, Faults: fault}).says(research(true, gather)).ends(events.KindGraphCreated)
	if len(e.Warnings) == 0 || e.Warnings[0].Message != "nobody is there" {
		t.Errorf("the failure is not told: %v", e.Warnings)
	}
}

// proves C8
func TestTheConversationIsToldInOrderWithinItsLimit(t *testing.T) {
	if planning.History(nil, 1000) != "" {
		t.Error("an empty history says something")
	}
	turns := []planning.Turn{
		{User: "first question", Answer: "first answer"}, {User: "second", Steps: []string{"looked", "thought"}, Answer: "answer two"}, {User: "third"},
	}
	want := "---- Conversation so far ----\n[User]\nfirst question\n[Answer]\nfirst answer\n[User]\nsecond\n[Step 1] looked\n[Step 2] thought\n[Answer]\nanswer two\n[User]\nthird\n---- End of the conversation ----"
	musttest.Equal(t, want, planning.History(turns, 1000))
	cut := planning.History(turns, 90)
	if strings.Contains(cut, "first question") || !strings.Contains(cut, "third") || !strings.Contains(cut, "1 earlier turns left out") {
		t.Error(cut)
	}
	if cut := planning.History(turns, 10); !strings.Contains(cut, "[User]\nth") || strings.Contains(cut, "second") {
		t.Error(cut)
	}
	s := open(t, "default", "g", func(s *planning.Start) { s.History = turns })
	contains(t, s.told(), "first question", "answer two")
}

// proves C-weakness-10
func TestTheProvidersErrorIsShownAsItIs(t *testing.T) {
	e := open(t, "graph", "g").fails(planning.ClassNotFound).ends(events.KindPlanRejected)
	if f := e.Faults[0]; f.Cause != "provider said no" || f.Hint == "" || f.Code != events.CodeUnavailable {
		t.Errorf("%+v", f)
	}
}
