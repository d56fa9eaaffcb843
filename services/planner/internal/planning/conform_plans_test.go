package planning_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// older makes the record one of a planner that treated the number of steps as a limit.
func older(s *planning.Start) { s.Rules = 0 }

// The record of an older planner folds as before: a plan with too many steps is refused, and drafted again.
func TestARecordOfAnOlderPlannerRefusesPlansWithTooManySteps(t *testing.T) {
	six := func(s *planning.Start) { s.MaxSteps = 100; s.Profile.Limits.Steps = 3 }
	e := open(t, "research", "g", older, six).says(handed, research(true, gather, compute, reason, reason), research(true, gather)).ends(events.KindGraphCreated)
	if len(e.Plan.SubJobs) != 1 || e.Calls != 3 {
		t.Errorf("%+v", e)
	}
	fewest := 2
	steps := open(t, "research", "g", older, six, func(s *planning.Start) { s.Request.Limits.MaxSteps = &fewest }).says(handed, research(true, gather, compute, reason))
	contains(t, steps.told(), "3 steps, at most 2")
	if e := steps.says(research(true, gather, compute, reason)).ends(events.KindPlanRejected); e.Faults[0].Code != events.CodeTooLarge {
		t.Errorf("%+v", e.Faults)
	}
}

// A model's plan with more steps than requested is shortened, or runs as it is: no second draft is paid for, and the job does not
// end. No work is lost.
// proves D16
func TestTheNumberOfStepsIsAdvice(t *testing.T) {
	three := 3
	asked := func(s *planning.Start) { s.MaxSteps = 20_000; s.Request.Limits.MaxSteps = &three }
	recorded := research(true, gather, step("research", "demand of industry"), step("research", "mining costs"), compute, reason)
	s := open(t, "research", "g", asked).says(handed)
	contains(t, s.told(), "at most 3")
	if strings.Contains(string(s.calls[1].Schema), "maxItems") {
		t.Errorf("the schema enforces what is advice: %s", s.calls[1].Schema)
	}
	e := s.says(recorded).ends(events.KindGraphCreated)
	if got := inputs(e.Plan); got != "step_1() step_4(step_1) step_5(step_4)" || e.Calls != 2 {
		t.Errorf("%s after %d calls", got, e.Calls)
	}
	contains(t, e.Plan.SubJobs[0].Goal, "prices since 2020", "demand of industry", "mining costs")
	if len(e.Warnings) != 1 || e.Warnings[0].Code != events.CodeTooLarge || !strings.Contains(e.Warnings[0].Message, "5 steps, 3 were asked for") {
		t.Errorf("%+v", e.Warnings)
	}
	apart := open(t, "research", "g", asked).says(handed, research(true, gather, compute, reason, compute, gather)).ends(events.KindGraphCreated)
	if len(apart.Plan.SubJobs) != 5 || len(apart.Warnings) != 1 {
		t.Errorf("%+v %v", apart.Plan, apart.Warnings)
	}
	seen := open(t, "research", "g", asked, review).says(handed, recorded).owes(planning.Ask, planning.StageReview)
	contains(t, seen.asks[0].Prompt, "5 steps, 3 were asked for")
	hard := open(t, "research", "g", func(s *planning.Start) { s.MaxSteps = 2; s.Request.Limits.MaxSteps = &three }).says(handed, research(true, gather, compute, reason))
	contains(t, hard.told(), "3 steps, at most 2")
}

// The limit of the request applies to a plan that a person supplies, with the request or in a review.
// proves D16
func TestAPersonsPlanKeepsTheLimitOfTheRequest(t *testing.T) {
	two := 2
	limit := func(s *planning.Start) { s.MaxSteps = two; s.Request.Limits.MaxSteps = &two }
	own := json.RawMessage(research(true, gather, compute, reason))
	e := open(t, "research", "g", limit, func(s *planning.Start) { s.Request.Plan = own }).ends(events.KindPlanRejected)
	if e.Faults[0].Code != events.CodeTooLarge || e.Faults[0].Field != "steps" {
		t.Errorf("%+v", e.Faults)
	}
	s := open(t, "research", "g", limit, review, func(s *planning.Start) { s.MaxSteps = 20_000 }).says(handed, research(true, gather))
	s.fact(planning.Fact{Kind: planning.Closed, Action: events.Answered, Answer: own}).owes(planning.Ask, planning.StageReview)
	contains(t, s.asks[1].Prompt, "3 steps, at most 2")
}

// step is a step of a research plan.
func step(kind, description string) string {
	return fmt.Sprintf(`{"need_web_search":%v,"title":"T","description":%q,"step_type":%q}`, kind == "research", description, kind)
}

// A model in strict mode can write only what the schema of its call allows. In the dialects of the profiles research and steps it
// can also say which steps depend on each other: steps without dependencies are independent, and if it says nothing the steps
// follow each other.
// proves F9
// proves F-weakness-g
// proves F-weakness-issue-255
// proves F-weakness-issue-1211
// proves O-weakness-7
func TestIndependentStepsRunAtOnceInTheFormThatTheModelIsAskedFor(t *testing.T) {
	informed := func(s *planning.Start) { s.Informed = true }
	fan := map[string][2]string{
		"research": {
			research(true, dependent(gather, "[]"), dependent(gather, "[]"), dependent(compute, "[1,2]"), dependent(reason, "null")),
			research(true, dependent(gather, "null"), dependent(gather, "null"), dependent(compute, "null"), dependent(reason, "null")),
		},
		"steps": {
			`{"title":"T","steps":[{"step":"[RESEARCHER] a","dependencies":[]},{"step":"[CODER2] b","dependencies":[]},{"step":"c","dependencies":[1,2]},"[ANALYST] d"]}`,
			`{"title":"T","steps":["a",{"step":"b","dependencies":null},"c","d"]}`,
		},
	}
	for name, plans := range fan {
		for i, want := range []string{
			"step_1() step_2() step_3(step_1 step_2) step_4(step_1 step_2 step_3)",
			"step_1() step_2(step_1) step_3(step_1 step_2) step_4(step_1 step_2 step_3)",
		} {
			s := drafting(t, name, "gold", informed)
			call := s.calls[len(s.calls)-1]
			form, err := schema.Read(call.Schema)
			if err != nil || !call.Strict {
				t.Fatalf("%s: %v, strict %v", name, err, call.Strict)
			}
			if faults := form.Misfits(json.RawMessage(plans[i])); len(faults) > 0 {
				t.Errorf("%s: no model in strict mode can write %s: %v", name, plans[i], faults)
			}
			e := s.says(plans[i]).ends(events.KindGraphCreated)
			if got := inputs(e.Plan); got != want || len(e.Warnings) > 0 {
				t.Errorf("%s: %s, want %s; %v", name, got, want, e.Warnings)
			}
			old := drafting(t, name, "gold", informed, older)
			if name == "research" && inputs(old.says(plans[0]).ends(events.KindGraphCreated).Plan) == inputs(e.Plan) && i == 0 {
				t.Errorf("the record of an older planner folds in another way than it did")
			}
		}
	}
	native := `{"subjobs":[{"id":"a","goal":"a","expert":"Researcher"}]}`
	form, err := schema.Read(drafting(t, "research", "gold").calls[1].Schema)
	if err != nil || len(form.Misfits(json.RawMessage(native))) == 0 {
		t.Errorf("a native plan fits the form of research: %v", err)
	}
	s := drafting(t, "research", "gold").says(research(true, dependent(gather, "[2]"), dependent(compute, "[1,0]")))
	contains(t, s.told(), "step_1 → step_2 → step_1", `"step_0", which does not exist`)
}

// dependent adds dependencies to a step of a research plan.
func dependent(step, needs string) string {
	return strings.TrimSuffix(step, "}") + `,"dependencies":` + needs + "}"
}

// One request asks for one form: never both for tags around JSON and for bare JSON. The form may name the language of an expert.
// proves C13
func TestOneRequestAsksForOneForm(t *testing.T) {
	for _, locale := range []string{"en-US", "zh-CN"} {
		for _, name := range profiles {
			for _, mode := range []events.WorkKind{events.WorkPlan, events.WorkSplit, events.WorkReplan} {
				s := drafting(t, name, "gold", func(s *planning.Start) {
					s.Request.Locale, s.Mode, s.Part = locale, mode, &events.SubJob{ID: "big", Goal: "do everything", Expert: "analyst"}
				})
				for range 2 { // The second request says what was wrong with the first answer.
					call := s.calls[len(s.calls)-1]
					if told := s.told(); len(call.Schema) > 0 && strings.Contains(told, "<decomposition>") {
						t.Errorf("%s of %s in %s: asks for tags and for JSON alone: %s", mode, name, locale, told)
					}
					if s.Pending().Kind == planning.Call {
						s.says(`{"title":"nothing of a plan"}`)
					}
				}
			}
		}
	}
	s := drafting(t, "graph", "gold")
	form := musttest.Get(schema.Read(s.calls[0].Schema))(t)
	task := `{"subtask_1":{"goal":"g","context":"c","completion_criteria":"c","dependencies":[],"assigned_expert":"Analyst","thinking":"t"%s}}`
	with := fmt.Sprintf(task, `,"language of the assigned_expert":"English"`)
	for _, raw := range []string{with, fmt.Sprintf(task, "")} {
		if faults := form.Misfits(json.RawMessage(raw)); len(faults) > 0 {
			t.Errorf("%s: %v", raw, faults)
		}
	}
	e := s.says("Here it is:\n<decomposition>\n" + with + "\n</decomposition>").ends(events.KindGraphCreated)
	if got := e.Plan.SubJobs[0].Language; got != "English" {
		t.Errorf("language %q", got)
	}
}

// A step in a language that its expert does not know goes to an expert that knows it and can do the same; if there is none, or a
// person named the expert, the plan says so.
// proves C13
func TestLanguagesOfExpertsAreToldAndRespected(t *testing.T) {
	languages := func(s *planning.Start) {
		s.Cards = []events.Card{
			{ID: "writer", Name: "Writer", Description: "writes texts", Skills: []string{"writing"}, Languages: []string{"en"}},
			{ID: "poet", Name: "Poet", Description: "writes texts", Skills: []string{"writing"}, Languages: []string{"Chinese", "en"}},
			{ID: "coder", Name: "Coder", Description: "programs", Skills: []string{"code"}, Languages: []string{"en"}},
		}
	}
	task := func(expert, language string) string {
		return fmt.Sprintf(`{"subtask_1":{"goal":"g","context":"c","completion_criteria":"c","dependencies":[],"assigned_expert":%q,"thinking":"t","language of the assigned_expert":%q}}`, expert, language)
	}
	s := drafting(t, "graph", "gold", languages)
	contains(t, s.told(), "knows only these languages: Chinese, en")
	for _, c := range []struct{ expert, language, want, warns string }{
		{"Writer", "Chinese", "poet", "poet takes the step"},
		{"Writer", "zh-CN", "poet", "poet takes the step"},
		{"Writer", "English", "writer", ""},
		{"Writer", "", "writer", ""},
		{"Coder", "中文", "coder", "does not know the language"},
	} {
		e := drafting(t, "graph", "gold", languages).says(task(c.expert, c.language)).ends(events.KindGraphCreated)
		if got := e.Plan.SubJobs[0].Expert; got != c.want || (len(e.Warnings) > 0) != (c.warns != "") {
			t.Errorf("%s in %q goes to %s: %v", c.expert, c.language, got, e.Warnings)
		}
		if c.warns != "" && !strings.Contains(e.Warnings.Error(), c.warns) {
			t.Errorf("%s in %s: %v", c.expert, c.language, e.Warnings)
		}
	}
	own := open(t, "graph", "gold", languages, func(s *planning.Start) { s.Request.Plan = json.RawMessage(task("Writer", "zh")) }).ends(events.KindGraphCreated)
	if own.Plan.SubJobs[0].Expert != "writer" || len(own.Warnings) != 1 {
		t.Errorf("%+v %v", own.Plan, own.Warnings)
	}
	chinese := drafting(t, "graph", "写一首诗", languages).says(task("Writer", "")).ends(events.KindGraphCreated)
	if chinese.Plan.SubJobs[0].Expert != "poet" {
		t.Errorf("a request in Chinese: %+v %v", chinese.Plan, chinese.Warnings)
	}
}

// A report names only sources that the job contains: others are marked, or removed if the profile says so, and a warning names
// them. What an expert writes in place of the model is a result, and stays unchanged.
// proves F15
// proves D14
func TestInventedSourcesOfAReportAreMarkedOrTakenOut(t *testing.T) {
	const text = "# Gold\n\nSee [Board](https://gold.example/board), https://mean.example/a, https://given.example/x and [New](https://invented.example/1)."
	given := func(s *planning.Start) { s.Finish.Given = []string{"https://given.example/x"} }
	how := func(how string) func(*planning.Start) {
		return func(s *planning.Start) { s.Profile.Citations = how }
	}
	for _, c := range []struct {
		want   string
		change []func(*planning.Start)
	}{
		{"https://given.example/x and [New](https://invented.example/1) (not verified).", nil},
		{"[New](https://invented.example/1)（未核实）.", []func(*planning.Start){func(s *planning.Start) { s.Request.Locale = "zh-CN" }}},
		{"https://given.example/x and New.", []func(*planning.Start){how("remove")}},
		{text[len(text)-40:], []func(*planning.Start){how("keep")}},
		{text[len(text)-40:], []func(*planning.Start){older}},
		{text[len(text)-40:], []func(*planning.Start){func(s *planning.Start) { s.Finish.Unsearched = true }}},
	} {
		s := carried(t, "research", "report", append([]func(*planning.Start){given}, c.change...)...)
		got := words(t, s.says(text), planning.ByModel)
		contains(t, got, c.want, "[Board](https://gold.example/board),", "https://mean.example/a,")
		warned := s.State().Warnings
		if report, _ := s.Ended(); strings.Contains(got, text) != (len(warned) == 0) || len(report.Report.Warnings) != len(warned) {
			t.Errorf("%v %+v", warned, report.Report)
		}
		if len(warned) > 0 && !strings.HasSuffix(warned[0].Message, ": https://invented.example/1") {
			t.Errorf("%+v", warned)
		}
	}
	expert := carried(t, "research", "report", hasWritten(text))
	contains(t, words(t, expert, planning.ByStandIn), "[New](https://invented.example/1).")
}
