package planning_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// profiles are the names of the built-in profiles.
var profiles = []string{"default", "graph", "assistant", "research", "steps"}

// inputs returns the dependencies of each step of a plan.
func inputs(p *events.Plan) string {
	var list []string
	for _, s := range p.SubJobs {
		list = append(list, s.ID+"("+strings.Join(s.Dependencies, " ")+")")
	}
	return strings.Join(list, " ")
}

// A linear plan passes all earlier results on, not only the last; a native plan has its own dependencies, whatever the
// profile says. Plans in the profile's own form are tested in TestIndependentStepsRunAtOnceInTheFormThatTheModelIsAskedFor.
//
// proves F9
func TestLaterStepsSeeAllEarlierResults(t *testing.T) {
	informed := func(s *planning.Start) { s.Informed = true }
	list := map[string]string{
		"research": research(true, gather, compute, reason),
		"steps":    `{"title":"T","steps":["[RESEARCHER] a","[CODER2] b","[ANALYST] c"]}`,
	}
	const chain = "step_1() step_2(step_1) step_3(step_1 step_2)"
	for name, raw := range list {
		given := open(t, name, "gold", informed, func(s *planning.Start) { s.Request.Plan = json.RawMessage(raw) })
		if got := inputs(given.ends(events.KindGraphCreated).Plan); got != chain {
			t.Errorf("%s: %s, want %s", name, got, chain)
		}
		if got := inputs(drafting(t, name, "gold", informed).says(raw).ends(events.KindGraphCreated).Plan); got != chain {
			t.Errorf("%s: %s, want %s", name, got, chain)
		}
		if got := inputs(drafting(t, name, "gold").says(raw).ends(events.KindGraphCreated).Plan); got != "step_1() step_2(step_1) step_3(step_2)" {
			t.Errorf("%s: the record of an older planner gives %s", name, got)
		}
	}
	fan := `{"subjobs":[{"id":"a","goal":"a","completion_criteria":"c","expert":"Researcher"},{"id":"b","goal":"b","completion_criteria":"c","expert":"Researcher"},` +
		`{"id":"c","goal":"c","completion_criteria":"c","expert":"Analyst","dependencies":["a","b"]}]}`
	for _, name := range profiles {
		if got := inputs(drafting(t, name, "gold", informed).says(fan).ends(events.KindGraphCreated).Plan); got != "a() b() c(a b)" {
			t.Errorf("%s: %s", name, got)
		}
	}
	var many []string
	for range 1000 {
		many = append(many, gather)
	}
	long := open(t, "research", "gold", informed, func(s *planning.Start) { s.Request.Plan = json.RawMessage(research(true, many...)) })
	edges := 0
	for _, s := range long.ends(events.KindGraphCreated).Plan.SubJobs {
		edges += len(s.Dependencies)
	}
	if edges > 16*len(many) {
		t.Errorf("a list of %d steps has %d edges", len(many), edges)
	}
}

// Steps without a search are reasoning steps, unless they say that they compute.
//
// proves F-weakness-issue-677
// proves F7
func TestStepsWithoutASearchDoNotAllGoToTheCoder(t *testing.T) {
	untyped := func(search bool) string {
		return fmt.Sprintf(`{"need_web_search":%v,"title":"T","description":"think about it"}`, search)
	}
	p := drafting(t, "research", "gold").says(research(true, untyped(true), untyped(false), compute)).ends(events.KindGraphCreated).Plan
	var got []string
	for _, s := range p.SubJobs {
		got = append(got, s.Type+"→"+s.Expert)
	}
	if strings.Join(got, " ") != "research→researcher analysis→analyst processing→coder2" {
		t.Error(got)
	}
}

// A reviewer sees every step of a plan, its expert, and how to answer; every offered option is understood.
//
// proves F-weakness-issue-361
// proves F-weakness-issue-3016
// proves D11
func TestAPlanIsShownWholeWithAFormForItsAnswer(t *testing.T) {
	draft := `{"title":"On gold","subjobs":[{"id":"a","title":"Look","goal":"look it up","completion_criteria":"c","expert":"Researcher"},{"id":"b","goal":"think of it","completion_criteria":"c","expert":"Analyst","dependencies":["a"]}]}`
	for _, name := range []string{"default", "graph", "research", "steps"} {
		for _, option := range []string{"accept", "edit", "reject"} {
			s := drafting(t, name, "gold", review).says(draft).owes(planning.Ask, planning.StageReview)
			ask := s.asks[len(s.asks)-1]
			contains(t, ask.Prompt, "On gold", "Look", "Researcher", "think of it", "Analyst")
			if !slices.Contains(ask.Options, option) || !json.Valid(ask.Schema) || ask.Request == "" || ask.ExpiresIn <= 0 {
				t.Errorf("%s: %+v", name, ask)
			}
			s.fact(planning.Fact{Kind: planning.Closed, Action: events.Answered, Answer: json.RawMessage(`{"action":"` + option + `","text":"shorter"}`)})
			if s.Pending().Kind == planning.Ask {
				t.Errorf("%s: %s is offered and not understood: %s", name, option, s.asks[len(s.asks)-1].Prompt)
			}
		}
	}
}

// Edits of every kind, over many rounds, lead to the next draft or the end; a draft that is null, empty or of another kind
// after an edit does no harm.
//
// proves F-weakness-issue-73
func TestAnEditOfAPlanNeverBreaksTheSession(t *testing.T) {
	for _, name := range []string{"default", "graph", "research", "steps"} {
		for _, bad := range []string{"null", "", "[]", "{}", `{"steps":null}`, `{"subjobs":[null]}`, `{"title":7}`} {
			s := drafting(t, name, "gold", review).says(`{"subjobs":[{"id":"a","goal":"first plan","completion_criteria":"c","expert":"Analyst"}]}`)
			s.person("[EDIT_PLAN] otherwise").owes(planning.Call, planning.StageDraft)
			contains(t, s.told(), "otherwise", "first plan")
			for range 2 { // The profiles ask once more for an unusable draft, or not at all.
				if s.Pending().Kind == planning.Call {
					s.says(bad)
				}
			}
			s.owes(planning.Ask, planning.StageReview)
			if p := s.person("accept").ends(events.KindGraphCreated).Plan; p.SubJobs[0].Goal != "first plan" {
				t.Errorf("%s, %q: %+v", name, bad, p)
			}
		}
	}
}

// No person is asked the same question twice, however often the plan is drafted.
//
// proves V-weakness-issue-228
func TestWhoLooksAroundIsAskedOnceHoweverOftenThePlanIsDrafted(t *testing.T) {
	yes := true
	for _, name := range []string{"default", "graph", "research"} {
		s := open(t, name, "gold", review, func(s *planning.Start) { s.Request.Investigate = &yes })
		inquiries, drafts := 0, 0
		for range most {
			switch c := s.Pending(); {
			case c.Kind == planning.Investigate:
				inquiries++
				s.fact(planning.Fact{Kind: planning.Found, Findings: []planning.Finding{{Source: "search", Text: "gold is up"}}})
			case c.Kind == planning.Ask:
				s.person("edit: otherwise")
			case c.Kind == planning.Call && c.Stage == planning.StageTriage:
				s.fact(planning.Fact{Kind: planning.Answered, Text: handed})
			case c.Kind == planning.Call && drafts == 0 && name == "default": // It lacks something, so planning starts again.
				drafts++
				s.fact(planning.Fact{Kind: planning.Answered, Text: lacking})
			case c.Kind == planning.Call && drafts%2 == 0: // Every other draft calls a tool again.
				drafts++
				s.fact(planning.Fact{Kind: planning.Answered, Text: `{"name":"web_search","arguments":{"query":"gold"}}`})
			case c.Kind == planning.Call:
				drafts++
				contains(t, s.told(), "gold is up")
				s.fact(planning.Fact{Kind: planning.Answered, Text: research(false, gather)})
			}
		}
		if _, ended := s.Ended(); !ended || inquiries != 1 || drafts < 4 || drafts > 6 {
			t.Errorf("%s: %d inquiries, %d drafts, ended %v", name, inquiries, drafts, ended)
		}
	}
}

// The provider's message reaches the person in every profile and for every failure, with advice, and costs no further
// calls; nothing runs without a plan.
//
// proves V-weakness-issue-264
// proves V-weakness-issue-618
// proves C-weakness-issue-203
// proves C-weakness-issue-213
func TestAFailureOfTheProviderIsToldByEveryProfile(t *testing.T) {
	for _, name := range profiles {
		for _, class := range []planning.Class{
			planning.ClassUnavailable, planning.ClassAuth, planning.ClassQuota, planning.ClassNotFound, planning.ClassUnnamed, planning.ClassBadRequest,
		} {
			s := drafting(t, name, "gold")
			before := len(s.calls)
			e := s.fails(class).ends(events.KindPlanRejected)
			f := e.Faults[len(e.Faults)-1]
			if e.Plan != nil || f.Code != events.CodeUnavailable || f.Cause != "provider said no" || f.Hint == "" || len(s.calls) != before {
				t.Errorf("%s, %s: %d calls, %+v", name, class, len(s.calls)-before+1, e.Faults)
			}
		}
	}
}

// A plan without tags is understood at once; a model that returns nothing is told why, once, and then planning ends.
//
// proves C-weakness-issue-209
// proves C-weakness-issue-19
func TestADecompositionWithoutItsTagsIsStillOne(t *testing.T) {
	bare := "{" + task("subtask_1", "Researcher") + "," + task("subtask_2", "Analyst", "subtask_1") + "}"
	for _, text := range []string{bare, "Here you are:\n" + bare + "\nDone.", "```\n" + bare + "\n```", "<decomposition>" + bare, bare + "</decomposition>"} {
		s := open(t, "graph", "g").says(text)
		if got := inputs(s.ends(events.KindGraphCreated).Plan); got != "subtask_1() subtask_2(subtask_1)" || len(s.calls) != 1 {
			t.Errorf("%.60q: %s after %d calls", text, got, len(s.calls))
		}
	}
	for _, text := range []string{"<decomposition></decomposition>", "<decomposition>{}</decomposition>", "I cannot."} {
		s := open(t, "graph", "g").says(text, text)
		if e := s.ends(events.KindPlanRejected); len(s.calls) != 2 || len(e.Faults) == 0 || e.Faults[0].Code == events.CodeInternal || e.Raw != text {
			t.Errorf("%q: %d calls, %+v", text, len(s.calls), e)
		}
	}
}

// A request that names an expert goes to it: one task, in the person's words, without a model.
//
// proves V-weakness-issue-273
func TestAnExpertThatIsNamedGetsTheWordsOfThePersonUnchanged(t *testing.T) {
	for _, goal := range []string{"go on", "  Every day at 9: tell me, please, THE price…\n\n", "确认"} {
		for _, name := range profiles {
			s := open(t, name, goal, func(s *planning.Start) { s.Request.Expert = "Price Monitor" })
			p := s.ends(events.KindGraphCreated).Plan
			if len(s.calls) != 0 || len(p.SubJobs) != 1 || p.SubJobs[0].Goal != goal || p.SubJobs[0].Expert != "monitor" || p.SubJobs[0].Schedule != nil {
				t.Errorf("%s, %q: %d calls, %+v", name, goal, len(s.calls), p.SubJobs)
			}
		}
	}
}

// The time zone of a schedule is kept, and one that does not exist is a fault of the draft.
//
// proves V-weakness-9
func TestAScheduleKeepsItsTimeZone(t *testing.T) {
	zones := func(name string) bool { return name == "Asia/Tokyo" }
	in := func(zone string) string {
		return strings.Replace(daily, `"daily_time":"09:00"`, `"daily_time":"09:00","timezone":"`+zone+`"`, 1)
	}
	s := open(t, "assistant", "gold")
	s.ports.Plan.Zone = zones
	s.Planning = planning.New(s.start, s.ports)
	s.says(handed, in("Mars/Olympus")).owes(planning.Call, planning.StageDraft)
	contains(t, s.told(), "Mars/Olympus")
	s.says(in("Asia/Tokyo")).owes(planning.Ask, planning.StageConfirm)
	contains(t, s.asks[0].Prompt, "09:00", "Asia/Tokyo")
	p := s.person("confirm").ends(events.KindGraphCreated).Plan
	if got := p.SubJobs[0].Schedule; got == nil || got.DailyTime != "09:00" || got.Timezone != "Asia/Tokyo" {
		t.Errorf("%+v", got)
	}
}

// proves V10
func TestAConfirmedScheduleIsNotReviewedOnceMore(t *testing.T) {
	settled := func(s *planning.Start) { s.Settled = true }
	begin := func(plan string, more ...func(*planning.Start)) *stage {
		asks := func(s *planning.Start) { // The request decides about a review.
			s.Profile.Stages, s.Profile.Review.When = append(slices.Clone(s.Profile.Stages), planning.StageReview), ""
		}
		return drafting(t, "assistant", "gold", append(more, review, asks)...).says(plan).owes(planning.Ask, planning.StageConfirm)
	}
	begin(daily, settled).person("yes").ends(events.KindGraphCreated)
	begin(daily).person("yes").owes(planning.Ask, planning.StageReview) // As recorded by older planners.
	two := strings.Replace(daily, `"tasks":[`, `"tasks":[{"title":"Once","query":"look","agent_name":"Analyst","pattern":"once"},`, 1)
	begin(two, settled).person("yes").owes(planning.Ask, planning.StageReview) // It contains more than what was confirmed.
}

func TestAnAnswerWithCourtesiesAroundItIsUnderstood(t *testing.T) {
	begin := func() *stage {
		return drafting(t, "graph", "gold", review, func(s *planning.Start) { s.Courteous = true }).
			says(`{"subjobs":[{"id":"a","goal":"g","completion_criteria":"c","expert":"Analyst"}]}`).owes(planning.Ask, planning.StageReview)
	}
	for _, word := range []string{"yes please", "Yes, please!", "yes, confirmed", "agreed", "ok, thank you", "please go ahead", "sure", "Sure, go ahead.", "请确认", "同意，谢谢", "好的谢谢"} {
		begin().person(word).ends(events.KindGraphCreated)
	}
	for _, word := range []string{"不同意", "不同意。", "不可以，谢谢", "no thanks", "No, thank you.", "please cancel"} {
		begin().person(word).ends(events.KindPlanRejected)
	}
	for _, word := range []string{"please", "thank you", "yes but shorter", "同意的话先改一下", "not sure", "yes no", "谢谢"} {
		begin().person(word).owes(planning.Ask, planning.StageReview)
	}
	for word, courteous := range map[string]bool{"yes please": false, "不同意": false, "agreed": true, "yes, confirmed": true} { // As recorded by older planners.
		old := drafting(t, "graph", "gold", review, func(s *planning.Start) { s.Decisions, s.Courteous = 1, courteous })
		old.says(`{"subjobs":[{"id":"a","goal":"g","completion_criteria":"c","expert":"Analyst"}]}`).person(word).owes(planning.Ask, planning.StageReview)
	}
}
