package planning_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

const (
	handed    = `{"decision":"handoff_to_planner","enriched_query":"the price of gold today"}`
	delegated = `{"tasks":[{"title":"Gold","query":"the price of gold today","agent_name":"Researcher","pattern":"once"}],"adequate":true,"reason":"r"}`
	daily     = `{"tasks":[{"title":"Gold","query":"Check gold every day at 09:00 and notify me","agent_name":"Price Monitor","pattern":"recurring","schedule_config":{"daily_time":"09:00"}}],"adequate":true,"reason":"r"}`
	lacking   = `{"tasks":[],"adequate":false,"reason":"no ticker","guidance_message":"Provide ticker"}`
)

// proves V-T1
// proves V12
func TestAQuestionOfThePlannerReachesThePersonAndItsAnswerThePlan(t *testing.T) {
	s := open(t, "default", "watch my stock").says(handed, lacking).owes(planning.Ask, planning.StageClarify)
	if ask := s.asks[0]; ask.Prompt != "Provide ticker" || ask.Kind != events.InputClarification || ask.Request != "p1-clarify-1" {
		t.Errorf("%+v", ask)
	}
	s.person("TSLA").owes(planning.Call, planning.StageDraft)
	contains(t, s.told(), "TSLA")
	s.says(`{"subjobs":[{"id":"a","goal":"watch TSLA","expert":"Price Monitor"}]}`).ends(events.KindGraphCreated)
}

// proves V-T2
func TestAnInadequatePlanIsGuidanceAndNobodyIsAsked(t *testing.T) {
	s := open(t, "assistant", "g").says(handed, lacking)
	e := s.ends(events.KindJobAnswered)
	if e.Answer != "Provide ticker" || e.Plan != nil || len(s.asks) != 0 || e.Outcome != events.OutcomeGuidance {
		t.Errorf("%+v, %d questions", e, len(s.asks))
	}
	e = open(t, "assistant", "g").says(handed, `{"tasks":[],"adequate":false,"reason":"only a reason"}`).ends(events.KindJobAnswered)
	if e.Answer != "only a reason" {
		t.Errorf("%+v", e)
	}
}

// proves V12
func TestTheAssistantPausesForMissingInputAndGoesOn(t *testing.T) {
	asking := `{"tasks":[],"adequate":true,"reason":"r","questions":[{"field":"ticker","prompt":"Which ticker?"},{"field":"amount","prompt":"How many shares?"}]}`
	s := open(t, "assistant", "watch my stock").says(handed, asking).owes(planning.Ask, planning.StageClarify)
	s.person("TSLA").owes(planning.Ask, planning.StageClarify).person("ten").owes(planning.Call, planning.StageDraft)
	if s.asks[0].Prompt != "Which ticker?" || s.asks[1].Prompt != "How many shares?" || s.asks[0].Request == s.asks[1].Request {
		t.Errorf("%+v", s.asks)
	}
	contains(t, s.told(), "watch my stock - TSLA, ten")
	e := s.says(delegated).ends(events.KindGraphCreated)
	if e.FailurePolicy != events.Continue {
		t.Errorf("policy %q", e.FailurePolicy)
	}
	s = open(t, "assistant", "buy", func(s *planning.Start) { s.Request.FailurePolicy = events.FailFast }).says(handed, delegated)
	if e := s.ends(events.KindGraphCreated); e.FailurePolicy != "" {
		t.Errorf("the request's own policy is replaced by %q", e.FailurePolicy)
	}
	tool := `{"tasks":[],"user_input_fields":[{"field_name":"ticker","field_type":"str","field_description":"Provide ticker"}]}`
	s = open(t, "assistant", "watch").says(handed, tool).owes(planning.Ask, planning.StageClarify)
	if s.asks[0].Prompt != "Provide ticker" {
		t.Errorf("%+v", s.asks[0])
	}
	for range 20 { // A model that keeps asking is stopped.
		if s.Pending().Kind == planning.Ask {
			s.person("?")
		} else if s.Pending().Kind == planning.Call {
			s.says(tool)
		}
	}
	if e := s.ends(events.KindPlanRejected); e.Faults[0].Code != events.CodeMissingContext || len(s.asks) != 6 {
		t.Errorf("%+v after %d questions", e.Faults, len(s.asks))
	}
	// Triage asks nothing: unclear requests go to the planner.
	open(t, "assistant", "g").says(`{"decision":"clarify","question":"Which?"}`).owes(planning.Call, planning.StageDraft)
}

// proves V-T3
// proves V-weakness-issue-367
// proves V-weakness-issue-298
// proves V11
func TestInventedExpertsAreNamedInTheGuidance(t *testing.T) {
	for _, name := range []string{"Oracle"} {
		bad := strings.Replace(delegated, "Researcher", name, 1)
		s := open(t, "assistant", "g").says(handed, bad)
		contains(t, s.told(), name, "The experts are only: Analyst, Coder 2, Price Monitor, Researcher")
		e := s.says(bad).ends(events.KindPlanRejected)
		if e.Plan != nil {
			t.Errorf("%+v", e)
		}
		contains(t, e.Faults[0].Message, "unsupported agent", name, "hallucinated", "Researcher")
	}
}

// proves V-T3
func TestExpertsThatPlansMayNotUseAreNotNamedToThePerson(t *testing.T) {
	for _, name := range []string{"Secret", "secret", "Pass", "Off"} {
		bad := strings.Replace(delegated, "Researcher", name, 1)
		s := open(t, "assistant", "g").says(handed, bad)
		contains(t, s.told(), "tasks[0].agent_name", "not available to plans", "The experts are only: Analyst, Coder 2, Price Monitor, Researcher")
		e := s.says(bad).ends(events.KindPlanRejected)
		contains(t, e.Faults[0].Message, "unsupported agent", "Researcher")
		if text := e.Faults.Error(); strings.Contains(text, name) || strings.Contains(text, "hallucinated") || e.Faults[0].Code != events.CodeHiddenExpert {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// proves V-T4
// proves V-weakness-issue-218
// proves V11
func TestAMalformedAnswerIsGuidanceWithTheRawText(t *testing.T) {
	e := open(t, "assistant", "g").says(handed, "the plan is easy", "the plan is easy").ends(events.KindPlanRejected)
	contains(t, e.Faults[0].Message, "malformed response", "check the capabilities of your model"[1:], "fake (via test)", "the plan is easy")
	if e.Raw != "the plan is easy" || e.Faults[0].Code != events.CodeMalformed {
		t.Errorf("%+v", e)
	}
	e = open(t, "assistant", "g", func(s *planning.Start) { s.ModelName = "" }).says(handed, "x", "x").ends(events.KindPlanRejected)
	contains(t, e.Faults[0].Message, "unknown model/provider")
	e = open(t, "assistant", "看看黄金价格").says(handed, "不会", "不会").ends(events.KindPlanRejected)
	contains(t, e.Faults[0].Message, "规划器的回答格式不正确", "不会")
}

// proves V-T5
// proves V5
func TestAPlannerThatCannotBeReachedSaysSo(t *testing.T) {
	e := open(t, "assistant", "g").fails(planning.ClassAuth).fails(planning.ClassAuth).ends(events.KindPlanRejected)
	contains(t, e.Faults[0].Message, "planner is unavailable", "Configure a valid API key")
	if e.Faults[0].Code != events.CodeUnavailable {
		t.Errorf("%+v", e.Faults)
	}
}

// proves V-T6
// proves V6
func TestCardsAreToldWithSkillsTagsAndExamples(t *testing.T) {
	s := open(t, "assistant", "g", func(s *planning.Start) { s.Examples = map[string][]string{"monitor": {"tell me when gold moves"}} })
	contains(t, s.told(), "- Price Monitor (id monitor): watches prices", "skills: monitor, alert", "tags: prices, watch", "example: tell me when gold moves")
	for _, name := range []string{"Secret", "- Off", "- Pass"} {
		if strings.Contains(s.told(), name) {
			t.Errorf("%s is offered to the model", name)
		}
	}
	s = open(t, "assistant", "g", func(s *planning.Start) {
		s.Cards = append(team(), events.Card{
			ID: "tide", Name: "Tide", Pure: true, Concurrency: 2, OutputSchema: json.RawMessage(`{}`), Seen: s.Now.Add(-time.Hour),
			Examples: []string{"When is  high\ntide?", "When is high tide?", strings.Repeat("x", 300), "3", "4", "5", "6"},
		})
	})
	contains(t, s.told(), "example: When is high tide?\n  example: xxx", "abilities: no side effects, 2 at once, structured result", "not heard of since 2026-11-21T08:00:00Z")
	if strings.Count(s.told(), "\n  example: ") != 5 || strings.Contains(s.told(), strings.Repeat("x", 201)) {
		t.Errorf("examples are not bounded: %s", s.told())
	}
	bare := open(t, "assistant", "g", func(s *planning.Start) { s.Cards = team() })
	s = open(t, "assistant", "g", func(s *planning.Start) {
		long := strings.Repeat("x", 400<<10)
		s.Cards = append(team(), events.Card{ID: "greedy", Name: long, Description: long, Skills: []string{"brief", long}, Tags: slices.Repeat([]string{"tag"}, 100_000), Languages: []string{long}})
	})
	if more := len(s.told()) - len(bare.told()); more > 8<<10 {
		t.Errorf("one card has %d bytes of the prompt", more)
	}
	contains(t, s.told(), "skills: brief")
	s = open(t, "assistant", "g", func(s *planning.Start) { s.Cards = nil })
	contains(t, s.told(), "No expert is registered")
}

// proves V-T8
// proves V13
func TestASecondAnswerToOneQuestionIsNone(t *testing.T) {
	s := open(t, "default", "g", review).says(handed, `{"subjobs":[{"id":"a","goal":"g","expert":"Analyst"}]}`).owes(planning.Ask, planning.StageReview)
	answer := planning.Fact{Key: s.Pending().Key, Kind: planning.Closed, Action: events.Answered, Answer: json.RawMessage(`"hmm"`)}
	if !s.Apply(answer) || s.Apply(answer) {
		t.Error("the second answer to a question was taken")
	}
	if s.Pending().Key != "review/2" {
		t.Error(s.Pending().Key)
	}
}

// proves V-T10
// proves V3
func TestAnAnswerOfTriageNeedsNoPlanner(t *testing.T) {
	s := open(t, "assistant", "hello").says(`{"decision":"answer","answer":"Hello to you."}`)
	if e := s.ends(events.KindJobAnswered); e.Outcome != "" || e.Answer != "Hello to you." || len(s.calls) != 1 || e.Calls != 1 {
		t.Errorf("%+v", e)
	}
	e := open(t, "assistant", "g").says(handed).fails(planning.ClassUnavailable).ends(events.KindPlanRejected)
	contains(t, e.Faults.Error(), "provider said no")
	named := open(t, "default", "g").says(`{"decision":"hand_on","title":"Named once"}`, `{"subjobs":[{"id":"a","goal":"g","expert":"Analyst"}]}`).ends(events.KindGraphCreated)
	if named.Title != "Named once" || named.Plan.Title != "Named once" {
		t.Errorf("%q %q", named.Title, named.Plan.Title)
	}
}

// A page draws it, and a person changes it into a plan of their own.
func TestAReviewHasItsPlanAsTheExampleOfOnesOwn(t *testing.T) {
	example := func(goal string) []events.Plan {
		ask := open(t, "default", "g", review).says(handed, `{"subjobs":[{"id":"a","goal":"`+goal+`","expert":"Analyst"},{"id":"b","goal":"h","expert":"Analyst","dependencies":["a"]}]}`).asks[0]
		var form struct {
			AnyOf []struct {
				Examples []events.Plan `json:"examples"`
			} `json:"anyOf"`
		}
		if err := json.Unmarshal(ask.Schema, &form); err != nil || len(form.AnyOf) != 4 {
			t.Fatalf("%v %s", err, ask.Schema)
		}
		return form.AnyOf[3].Examples
	}
	if got := example("look"); len(got) != 1 || len(got[0].SubJobs) != 2 || got[0].SubJobs[0].Goal != "look" || got[0].SubJobs[0].ExpertName != "Analyst" || got[0].SubJobs[1].Dependencies[0] != got[0].SubJobs[0].ID {
		t.Errorf("%+v", got)
	}
	if got := example(strings.Repeat("long ", 7000)); got != nil {
		t.Errorf("a plan that no question has room for is its example: %.200v", got)
	}
}

// proves V-T11
// proves F-weakness-issue-598
func TestAQuestionIsForTheRightPersonAndExpires(t *testing.T) {
	mine := func(s *planning.Start) { s.Request.User = "ada"; s.Request.AutoAccept = no() }
	draft := `{"subjobs":[{"id":"a","goal":"g","expert":"Analyst"}]}`
	s := open(t, "default", "g", mine).says(handed, draft)
	if ask := s.asks[0]; ask.User != "ada" || ask.ExpiresIn == 0 || string(ask.Default) != `{"action":"reject"}` || len(ask.Schema) == 0 {
		t.Errorf("%+v", ask)
	}
	s.person("what?").owes(planning.Ask, planning.StageReview) // Asked again, as a separate question.
	if s.asks[1].Request == s.asks[0].Request || !strings.Contains(s.asks[1].Prompt, "not understood") {
		t.Errorf("%+v", s.asks[1])
	}
	e := s.fact(planning.Fact{Kind: planning.Closed, Action: events.Expired, Answer: s.asks[1].Default}).ends(events.KindPlanRejected)
	if e.Faults[0].Code != events.CodeRejected || e.Faults[0].Hint == "" {
		t.Errorf("%+v", e.Faults)
	}
	open(t, "default", "g", mine).says(handed, draft).person("accept").ends(events.KindGraphCreated)
}

// proves V-T15
func TestAMalformedTriageIsAFailureWithGuidance(t *testing.T) {
	e := open(t, "assistant", "g").says("Well, well.").ends(events.KindPlanRejected)
	contains(t, e.Faults[0].Message, "malformed response", "Well, well.")
	if e.Faults[0].Code != events.CodeMalformed || e.Raw != "Well, well." {
		t.Errorf("%+v", e)
	}
}

// proves V-T18
func TestOnlyPlannableExpertsAreInTheSchema(t *testing.T) {
	s := open(t, "assistant", "g").says(handed)
	var schema struct {
		Properties struct {
			Tasks struct {
				Items struct {
					Properties struct {
						Agent struct {
							Enum []string `json:"enum"`
						} `json:"agent_name"`
					} `json:"properties"`
				} `json:"items"`
			} `json:"tasks"`
		} `json:"properties"`
	}
	call := s.calls[len(s.calls)-1]
	musttest.Decode(t, call.Schema, &schema)
	if got := strings.Join(schema.Properties.Tasks.Items.Properties.Agent.Enum, ","); got != "Analyst,Coder 2,Price Monitor,Researcher" || !call.Strict {
		t.Errorf("%s strict %v", got, call.Strict)
	}
}

// proves V10
func TestWhatRecursIsConfirmedFirstAndItsWordsAreStripped(t *testing.T) {
	s := open(t, "assistant", "gold every day at 9, tell me").says(handed, daily).owes(planning.Ask, planning.StageConfirm)
	contains(t, s.asks[0].Prompt, "Gold: every day at 09:00 UTC, next 2026-11-22 09:00", "accept")
	e := s.person("好的").ends(events.KindGraphCreated)
	if step := e.Plan.SubJobs[0]; step.Goal != "Check gold" || step.Schedule == nil || step.Schedule.DailyTime != "09:00" || step.Schedule.Pattern != "recurring" {
		t.Errorf("%+v", step)
	}
	s = open(t, "assistant", "gold every day at 9").says(handed, daily).person("edit: at 10:00 please")
	contains(t, s.told(), "at 10:00 please")
	e = s.says(strings.Replace(daily, `"daily_time":"09:00"`, `"daily_time":"10:00"`, 1)).owes(planning.Ask, planning.StageConfirm).person("yes").ends(events.KindGraphCreated)
	if e.Plan.SubJobs[0].Schedule.DailyTime != "10:00" {
		t.Errorf("%+v", e.Plan.SubJobs[0].Schedule)
	}
	e = open(t, "assistant", "g").says(handed, daily).person("no").ends(events.KindPlanRejected)
	if e.Faults[0].Code != events.CodeRejected {
		t.Errorf("%+v", e.Faults)
	}
	open(t, "assistant", "confirm: gold daily at 09:00").says(handed, daily).ends(events.KindGraphCreated)
	open(t, "assistant", "确认，每天九点查看黄金").says(handed, daily).ends(events.KindGraphCreated)
	e = open(t, "assistant", "g").says(handed, daily).person("a").person("b").person("c").ends(events.KindPlanRejected)
	if !strings.Contains(e.Faults[0].Message, "not understood") {
		t.Errorf("%+v", e.Faults)
	}
}

// proves V10
// proves V-weakness-9
func TestASchedulesZoneIsTheRequestsAndItsFirstRunMayBeginAtOnce(t *testing.T) {
	berlin := func(s *planning.Start) { s.Request.Timezone = "Europe/Berlin" }
	ask := func() *stage {
		s := open(t, "assistant", "gold every day at 9", berlin).says(handed, daily).owes(planning.Ask, planning.StageConfirm)
		contains(t, s.asks[0].Prompt, "Gold: every day at 09:00 Europe/Berlin, next 2026-11-22 09:00")
		return s
	}
	contains(t, ask().calls[0].Messages[0].Text, "It is 2026-11-21T10:00:00+01:00")
	for answer, first := range map[string]string{"yes": "", "accept now": "now", "Yes, now!": "now", "确认，现在": "now"} {
		step := ask().person(answer).ends(events.KindGraphCreated).Plan.SubJobs[0]
		if step.Schedule.Timezone != "Europe/Berlin" || step.Schedule.FirstRun != first || step.Handoff {
			t.Errorf("%s: %+v", answer, step)
		}
	}
	form := planning.Fact{Kind: planning.Closed, Action: events.Answered, Answer: json.RawMessage(`{"action":"accept","first_run":"now"}`)}
	if step := ask().fact(form).ends(events.KindGraphCreated).Plan.SubJobs[0]; step.Schedule.FirstRun != "now" {
		t.Errorf("%+v", step.Schedule)
	}
	ask().person("never now").owes(planning.Ask, planning.StageConfirm)
	own := strings.Replace(daily, `"daily_time":"09:00"`, `"daily_time":"09:00","timezone":"Asia/Tokyo"`, 1)
	contains(t, open(t, "assistant", "gold", berlin).says(handed, own).asks[0].Prompt, "09:00 Asia/Tokyo, next 2026-11-22 09:00")
}

// proves V9
func TestAHarmfulRequestIsAnsweredWithSomethingSafe(t *testing.T) {
	e := open(t, "assistant", "harm").says(handed, `{"tasks":[],"adequate":true,"reason":"harmful","guidance_message":"Rather do this."}`).ends(events.KindJobAnswered)
	if e.Answer != "Rather do this." || e.Outcome != events.OutcomeGuidance {
		t.Errorf("%+v", e)
	}
	e = open(t, "assistant", "harm").says(`{"decision":"refuse","answer":"I will not."}`).ends(events.KindPlanRejected)
	if e.Faults[0].Code != events.CodeRejected || e.Faults[0].Message != "I will not." {
		t.Errorf("%+v", e.Faults)
	}
}

// proves V15
func TestAPassthroughExpertThatIsNamedTakesTheWholeGoal(t *testing.T) {
	s := open(t, "assistant", "all of it", func(s *planning.Start) { s.Request.Expert = "Pass" })
	p := s.ends(events.KindGraphCreated).Plan
	if len(s.calls) != 0 || p.SubJobs[0].Title != "Run Pass" || p.SubJobs[0].Goal != "all of it" {
		t.Errorf("%+v", p)
	}
}

// proves V-weakness-3
// proves V3
func TestATriageWithoutAModelHandsOnAndNeverIsSilent(t *testing.T) {
	s := open(t, "assistant", "the price of gold").fails(planning.ClassUnavailable).owes(planning.Call, planning.StageDraft)
	contains(t, s.told(), "the price of gold")
	s.says(delegated).ends(events.KindGraphCreated)
}

// proves V-weakness-5
func TestAMissingEnrichedQueryIsTheQueryItself(t *testing.T) {
	for _, verdict := range []string{`{"decision":"hand_on"}`, `{"decision":"hand_on","enriched_query":null}`, `{"decision":"handoff_to_planner","enriched_query":"  "}`} {
		s := open(t, "assistant", "what I typed").says(verdict).owes(planning.Call, planning.StageDraft)
		contains(t, s.told(), "what I typed")
		s.says(delegated).ends(events.KindGraphCreated)
	}
}

// proves V-weakness-4
// proves F-weakness-v1-d
// proves F-weakness-issue-1213
// proves F-weakness-issue-1222
func TestASessionThatWaitsForAPersonGoesOnAfterARestart(t *testing.T) {
	s := open(t, "default", "g", review).says(handed, `{"subjobs":[{"id":"a","goal":"g","expert":"Analyst"}]}`)
	again := planning.Fold(s.start, s.ports, s.facts)
	if c := again.Pending(); c.Kind != planning.Ask || c.Ask.Request != s.asks[0].Request {
		t.Fatalf("%+v", c)
	}
	again.Apply(planning.Fact{Key: again.Pending().Key, Kind: planning.Closed, Action: events.Answered, Answer: json.RawMessage(`{"approved":true}`)})
	if e, ok := again.Ended(); !ok || e.Kind != events.KindGraphCreated {
		t.Errorf("%+v", e)
	}
}

// proves V-weakness-8
func TestEveryQuestionHasAnIdOfItsOwn(t *testing.T) {
	s := open(t, "default", "g", review).says(`{"decision":"clarify","question":"1?"}`).person("a").says(`{"decision":"clarify","question":"2?"}`).person("b")
	s.says(`{"subjobs":[{"id":"a","goal":"g","expert":"Analyst"}]}`).person("?").person("??").person("accept").ends(events.KindGraphCreated)
	seen := map[string]bool{}
	for _, ask := range s.asks {
		if seen[ask.Request] || !events.ValidToken(ask.Request) {
			t.Error(ask.Request)
		}
		seen[ask.Request] = true
	}
	if len(seen) != 5 {
		t.Error(seen)
	}
}

func TestAnExpertForTheResultWhoDoesNotExistIsTheFaultThatIsTold(t *testing.T) {
	for _, name := range []string{"assistant", "default"} {
		e := open(t, name, "g", func(s *planning.Start) { s.Request.Finalize = "expert:nobody" }).says(handed, delegated).ends(events.KindPlanRejected)
		contains(t, e.Faults.Error(), "nobody")
		if strings.Contains(e.Faults.Error(), "planner is unavailable") {
			t.Errorf("%s: %v", name, e.Faults)
		}
	}
}
