package plan

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/goldentest"
)

// searcher is an expert with every capability that research needs.
func searcher() []events.Card {
	return []events.Card{{ID: "all", Name: "All", Skills: []string{"web_search", "research", "analysis", "processing"}}}
}

// shape is a checked plan in short: type and needs of each step.
func shape(t *testing.T, raw string, rules *DraftRules) string {
	t.Helper()
	r := Check([]byte(raw), searcher(), Options{Draft: rules})
	if r.Plan == nil {
		return "faults: " + r.Faults.Error()
	}
	var parts []string
	for _, s := range r.Plan.SubJobs {
		parts = append(parts, s.Type+strings.Join(append([]string{""}, s.Needs...), "+"))
	}
	return strings.Join(parts, " ")
}

// proves F-T5
// proves F-weakness-issue-653
// proves F6
func TestStepsAreNormalisedBeforeTheyAreJudged(t *testing.T) {
	search := &DraftRules{Search: true, Locale: "en-US"}
	for name, test := range map[string]struct {
		raw, want string
		rules     *DraftRules
	}{
		"search makes research":             {`{"steps":[{"title":"a","description":"d","need_web_search":true}]}`, "research+web_search", nil},
		"no search makes analysis":          {`{"steps":[{"title":"a","description":"d","need_web_search":false}]}`, "analysis", nil},
		"older name of the flag":            {`{"steps":[{"title":"a","description":"d","need_search":true}]}`, "research+web_search", nil},
		"empty type":                        {`{"steps":[{"title":"a","description":"d","step_type":"","need_search":true}]}`, "research+web_search", nil},
		"null type":                         {`{"steps":[{"title":"a","description":"d","step_type":null,"need_search":false}]}`, "analysis", nil},
		"null flag":                         {`{"steps":[{"title":"a","description":"d","need_search":null}]}`, "analysis", nil},
		"missing flag":                      {`{"steps":[{"title":"a","description":"d"}]}`, "analysis", nil},
		"explicit kept":                     {`{"steps":[{"title":"a","description":"d","step_type":"processing","need_search":true}]}`, "processing+web_search", nil},
		"case of the type":                  {`{"steps":[{"title":"a","description":"d","step_type":" Research "}]}`, "research", nil},
		"several":                           {`{"steps":[{"description":"d","need_search":true},{"description":"e"},{"description":"f","step_type":"processing"}]}`, "research+web_search analysis processing", nil},
		"bare list":                         {`[{"title":"a","description":"d","step_type":"research","need_search":true}]`, "research+web_search", nil},
		"title stands in for a description": {`{"steps":[{"title":"only a title","need_search":true}]}`, "research+web_search", nil},
		"head is not needed":                {`{"steps":[{"description":"d"}]}`, "analysis", nil},
		"step that is no object":            {`{"steps":["a",{"description":"d"}]}`, `faults: steps[1]: is an object, expected a text`, nil},
		"enforced: there already":           {`{"steps":[{"description":"d","need_search":true,"step_type":"processing"},{"description":"e","step_type":"research"}]}`, "processing+web_search research", search},
		"enforced: first research flipped":  {`{"steps":[{"description":"d","step_type":"processing"},{"description":"e","step_type":"research"},{"description":"f","step_type":"research"}]}`, "processing research+web_search research", search},
		"enforced: first converted":         {`{"steps":[{"description":"d","step_type":"processing"},{"description":"e","step_type":"analysis"}]}`, "research+web_search analysis", search},
		"enforced: none, one is added":      {`{"title":"Solar","has_enough_context":false,"thought":"t","steps":[]}`, "research+web_search", search},
		"enforced: enough context":          {`{"title":"Solar","has_enough_context":true,"thought":"t","steps":[]}`, "faults: steps: the plan has no steps", search},
		"enforced: repaired, then enforced": {`{"steps":[{"description":"d","need_search":false},{"description":"e","step_type":""}]}`, "research+web_search analysis", search},
		"a payload that was reported once":  {`{"locale":"en-US","has_enough_context":false,"thought":"t","title":"T","steps":[{"need_search":true,"title":"a","description":"d"},{"need_search":false,"title":"b","description":"e"}]}`, "research+web_search analysis", nil},
		"nothing that is a plan":            {`"no plan"`, `faults: no JSON in the text: "no plan"`, nil},
		"steps that are no list":            {`{"steps":{"a":1}}`, "faults: steps: is an object, expected a list", nil},
	} {
		rules := test.rules
		if rules == nil {
			rules = &DraftRules{}
		}
		if got := shape(t, test.raw, rules); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	wants := `{"title":"Sun","has_enough_context":true,"steps":[{"need_web_search":true,"title":"Look","description":"Look","step_type":"research"}]}`
	offline := Check([]byte(wants), searcher(), Options{Draft: &DraftRules{Offline: true}})
	if len(offline.Warnings) != 1 || offline.Warnings[0].Field != "steps[0].need_web_search" || offline.Plan.SubJobs[0].Expert == "" {
		t.Errorf("%+v", offline)
	}
	r := Check([]byte(`{"title":"太阳能","has_enough_context":false,"steps":[]}`), searcher(), Options{Draft: &DraftRules{Search: true, Locale: "zh-CN"}})
	if r.Plan == nil || r.Plan.SubJobs[0].Title != "初步调研" || !strings.Contains(r.Plan.SubJobs[0].Goal, "太阳能") || len(r.Warnings) == 0 {
		t.Errorf("%+v %v", r.Plan, r.Faults)
	}
}

// proves V10
func TestOnlyExpertsThatCanWatchRecur(t *testing.T) {
	cards := []events.Card{{ID: "quote", Name: "Quote"}, {ID: "watch", Name: "Watch", Skills: []string{"price alerts"}}}
	rules := &DraftRules{Capabilities: []string{"monitor", "alert"}, Strip: true}
	plan := func(agent, schedule string) Result {
		return Check([]byte(`{"tasks":[{"title":"t","query":"Check the price of gold every day at 09:00 and notify me","agent_name":"`+agent+`","pattern":"recurring"`+schedule+`}]}`), cards, Options{Draft: rules})
	}
	r := plan("watch", `,"schedule_config":{"daily_time":"09:00"}`)
	if s := r.Plan.SubJobs[0]; s.Schedule == nil || s.Schedule.DailyTime != "09:00" || s.Goal != "Check the price of gold" || len(r.Warnings) > 0 {
		t.Errorf("%+v %v", s, r.Warnings)
	}
	r = plan("quote", `,"schedule_config":{"daily_time":"09:00"}`)
	if s := r.Plan.SubJobs[0]; s.Schedule != nil || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, "runs once") {
		t.Errorf("%+v %v", s, r.Warnings)
	}
	r = plan("watch", "")
	if s := r.Plan.SubJobs[0]; s.Schedule != nil || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Hint, "interval or a time") {
		t.Errorf("%+v %v", s, r.Warnings)
	}
	r = plan("watch", `,"schedule_config":{"daily_time":"09:00","interval_minutes":5}`)
	if r.Plan != nil || !strings.Contains(r.Faults.Error(), "2 ways to recur") {
		t.Errorf("%+v", r.Faults)
	}
}

// proves V10
func TestWordsAboutTimeAndNoticeAreStripped(t *testing.T) {
	for goal, want := range map[string]string{
		"Check gold every 30 minutes":                       "Check gold",
		"Every day at 9:00 am, summarise the news":          "summarise the news",
		"Monitor TSLA hourly and notify me about big moves": "Monitor TSLA big moves",
		"confirm, Watch BTC daily at 09:00":                 "Watch BTC",
		"Report at 18:30 every day":                         "Report",
		"Compare the 9:00 and 10:00 trains":                 "Compare the 9:00 and 10:00 trains",
		"每天早上9点查看黄金价格":                                      "查看黄金价格",
		"每隔30分钟检查一次特斯拉股价，并提醒我":                              "检查一次特斯拉股价",
		"每5分钟查询比特币价格然后通知我":                                  "查询比特币价格",
		"确认：每周一上午10点汇总新闻":                                   "汇总新闻",
		"每小时":                        "每小时",
		"Remind me every day":        "Remind me every day",
		"整理每个部门的预算":                  "整理每个部门的预算",
		"Explain daily life in Rome": "Explain life in Rome",
	} {
		if got := StripSchedule(goal); got != want {
			t.Errorf("%q: %q, want %q", goal, got, want)
		}
	}
}

func TestHiddenAndPassthroughExpertsAreNotPlannable(t *testing.T) {
	cards := []events.Card{{ID: "a", Name: "A"}, {ID: "h", Name: "H", Hidden: true}, {ID: "p", Name: "P", Passthrough: true}}
	for _, name := range []string{"H", "P"} {
		r := Check([]byte(`{"subjobs":[{"id":"x","goal":"g","expert":"`+name+`"}]}`), cards, Options{Draft: &DraftRules{}})
		if r.Plan != nil || r.Faults[0].Code != events.CodeHiddenExpert {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := Check([]byte(`{"subjobs":[{"id":"x","goal":"g","expert":"P"}]}`), cards, Options{}); r.Plan == nil {
		t.Errorf("a caller may name a passthrough expert: %v", r.Faults)
	}
}

func TestUnknownFieldsOfADraftAreWarnings(t *testing.T) {
	raw := []byte(`{"subjobs":[{"id":"x","goal":"g","expert":"all","estimate":"2h"}],"confidence":0.9}`)
	if r := Check(raw, searcher(), Options{Draft: &DraftRules{}}); r.Plan == nil || len(r.Warnings) != 2 {
		t.Errorf("%+v", r)
	}
	if r := Check(raw, searcher(), Options{}); r.Plan != nil || len(r.Faults) != 2 {
		t.Errorf("%+v", r)
	}
}

func TestTheBestExpertIsTheOneWhoseCardSpeaksOfIt(t *testing.T) {
	cards := []events.Card{
		{ID: "a", Name: "A", Description: "extracts entities from texts"},
		{ID: "b", Name: "B", Description: "ranks pages", Tags: []string{"default"}},
		{ID: "c", Name: "C", Description: "画图和图表"},
		{ID: "h", Name: "entities texts", Hidden: true},
	}
	for query, want := range map[string]string{"Extract the entities of this text": "a", "nothing fits": "b", "": "b", "给我画图": "c", "rank the page": "b"} {
		if got := Best(query, cards, ""); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	if got := Best("x", cards, "C"); got != "c" {
		t.Error(got)
	}
	if got := Best("x", nil, ""); got != "" {
		t.Error(got)
	}
	if Able(searcher(), "WEB_SEARCH") != "all" || Able(searcher(), "fly") != "" || Able(cards, "") != "" {
		t.Error("capabilities")
	}
}

func TestDraftSchemasAreAsTheGoldenFilesSay(t *testing.T) {
	for _, dialect := range Dialects() {
		raw, strict := DraftSchema(dialect, cards(), 7)
		if strict == (dialect == Chat2Graph) {
			t.Errorf("%s: strict %v", dialect, strict)
		}
		goldentest.Same(t, filepath.Join("testdata", "schema", string(dialect)+".json"), string(raw)+"\n")
	}
	if raw, _ := DraftSchema("latin", nil, 0); raw != nil {
		t.Error(string(raw))
	}
}

func TestAPlanIsRecognisedByItsShape(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"subjobs":[]}`: true, `{"tasks":[]}`: true, `{"steps":[]}`: true, `{"subtask_1":{}}`: true, `{"x":{"goal":"g"}}`: true,
		`["a"]`: true, `[{"title":"t"}]`: true, `[{"goal":"t"}]`: true,
		`{}`: false, `[]`: false, `[1]`: false, `[{"x":1}]`: false, `"steps"`: false, `7`: false, `null`: false, `{"decision":"answer"}`: false, ``: false,
	} {
		if got := Recognised([]byte(raw)); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}
