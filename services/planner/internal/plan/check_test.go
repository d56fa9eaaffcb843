package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func cards() []events.Card {
	timeout, retries := events.Duration(time.Minute), 5
	return []events.Card{
		{ID: "design", Name: "Design Expert", Tags: []string{"design", "default"}},
		{ID: "extraction", Name: "Extraction Expert", Pool: "heavy", Pure: true, Timeout: &timeout, Retries: &retries},
		{ID: "analysis", Name: "Analysis Expert", Skills: []string{"web_search"}, Tags: []string{"research"}},
		{ID: "coder", Name: "Coder 2", Tags: []string{"Processing", "code-2"}},
		{ID: "secret", Name: "Secret Expert", Hidden: true},
		{ID: "off", Name: "Off Expert", Disabled: true},
		{ID: "courier", Name: "Courier", Passthrough: true},
	}
}

func options() Options {
	return Options{MaxSteps: 10, Zone: func(name string) bool { return name == "Europe/Berlin" || name == "UTC" }}
}

// outline describes each SubJob in one line: id, expert, dependencies.
func outline(p *events.Plan) []string {
	if p == nil {
		return nil
	}
	var lines []string
	for _, s := range p.SubJobs {
		line := s.ID + " " + s.Expert
		if len(s.Dependencies) > 0 {
			line += " < " + strings.Join(s.Dependencies, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

func places(faults events.Faults) []string {
	var lines []string
	for _, f := range faults {
		lines = append(lines, string(f.Code)+" "+f.Field)
	}
	return lines
}

const tagged3 = "I thought about it, see {not this} and [neither this].\n" + `<decomposition>
` + "```json" + `
{
  // the basics first
  "subtask_1": {"goal": "a", "context": "", "completion_criteria": "x", "dependencies": [], "assigned_expert": "Design Expert", "thinking": "t", "language of the assigned_expert": "German"},
  'subtask_2': {"goal": "b // not a comment", "context": ["one", "two"], "completion_criteria": "x", "dependencies": ["subtask_1"], "assigned_expert": "EXTRACTION EXPERT", "thinking": ""},
  "subtask_3": {"goal": "c", "context": {"k": 1}, "completion_criteria": "x", "dependencies": ["subtask_1", "subtask_2"], "assigned_expert": "analysis", "thinking": "t",},
}
` + "```" + `
</decomposition>
<decomposition>{"subtask_9": {}}</decomposition>`

// proves F5
func TestAPlanInAFenceIsReadWhateverTheProseAroundItHolds(t *testing.T) {
	for _, fence := range []string{"```", "```json", "```JSON", "```ts"} {
		text := "I thought about {this} and [that].\n" + fence + "\n" + `{"subjobs":[{"id":"a","goal":"go","expert":"Analysis"}]}` + "\n```\nor {so}."
		if r := Check([]byte(text), cards(), options()); r.Plan == nil || len(r.Plan.SubJobs) != 1 || r.Plan.SubJobs[0].Goal != "go" {
			t.Errorf("%s: %+v", fence, r.Faults)
		}
	}
}

func TestEveryDialectDecodesIntoTheSameKindOfPlan(t *testing.T) {
	text := musttest.JSON(t, tagged3)
	for _, test := range []struct {
		name, plan string
		dialect    Dialect
		want       []string
	}{
		{
			"native", `{"subjobs":[{"id":"a","goal":"g","expert":"design"},{"id":"b","goal":"g","assigned_expert":"Coder 2","dependencies":["a"]}]}`,
			Native,
			[]string{"a design", "b coder < a"},
		},
		{"native as a bare list", `[{"id":1,"goal":"g"},{"id":2,"goal":"g","dependencies":[1]}]`, Native, []string{"1 design", "2 design < 1"}},
		{
			"native chosen by type and needs", `{"subjobs":[{"id":"a","goal":"g","type":"processing"},{"id":"b","goal":"g","needs":["web_search"]},{"id":"c","goal":"g","tag":"CODE-2"}]}`,
			Native,
			[]string{"a coder", "b analysis", "c coder"},
		},
		{"chat2graph in prose", tagged3, Chat2Graph, []string{"subtask_1 design", "subtask_2 extraction < subtask_1", "subtask_3 analysis < subtask_1 subtask_2"}},
		{"chat2graph in a JSON string", string(text), Chat2Graph, []string{"subtask_1 design", "subtask_2 extraction < subtask_1", "subtask_3 analysis < subtask_1 subtask_2"}},
		{
			"chat2graph bare, other keys", `{"x":{"goal":"g","context":"c","completion_criteria":"d","dependencies":[],"assigned_expert":"design","thinking":"t"}}`,
			Chat2Graph,
			[]string{"x design"},
		},
		{
			"deer-go", `{"locale":"de","has_enough_context":false,"thought":"t","title":"T","steps":[{"need_web_search":true,"title":"Gather","description":"d","step_type":"research"},{"need_web_search":false,"title":"Compute","description":"","step_type":"PROCESSING"},{"title":"Think"}]}`,
			DeerGo,
			[]string{"step_1 analysis", "step_2 coder < step_1", "step_3 design < step_2"},
		},
		{"deer-go as a bare list", `[{"step_type":"processing","description":"d"}]`, DeerGo, []string{"step_1 coder"}},
		{
			"valuecell", `{"tasks":[{"title":"t","query":"q","agent_name":"Design Expert","pattern":"once"},{"title":"t","query":"q","agent_name":"coder","pattern":"recurring","schedule_config":{"interval_minutes":5,"daily_time":null}}],"adequate":true,"reason":"r"}`,
			ValueCell,
			[]string{"task_1 design", "task_2 coder"},
		},
		{
			"openmanus", `{"title":"T","steps":["[DESIGN] a","[code-2] b","3. [Extraction Expert] c","[NOBODY] d","use the [coder] here"]}`,
			OpenManus,
			[]string{"step_1 design", "step_2 coder < step_1", "step_3 extraction < step_2", "step_4 design < step_3", "step_5 coder < step_4"},
		},
		{"openmanus as a bare list", `["a","b"]`, OpenManus, []string{"step_1 design", "step_2 design < step_1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Check([]byte(test.plan), cards(), options())
			if len(got.Faults) > 0 {
				t.Fatalf("faults:\n%v", got.Faults)
			}
			if got.Dialect != test.dialect {
				t.Errorf("dialect %q, want %q", got.Dialect, test.dialect)
			}
			musttest.Equal(t, test.want, outline(got.Plan))
		})
	}
}

func TestDetailsOfADialectAreKept(t *testing.T) {
	got := Check([]byte(tagged3), cards(), options())
	timeout, retries := events.Duration(time.Minute), 5
	want := events.SubJob{
		ID: "subtask_2", Goal: "b // not a comment", Context: "one\ntwo", CompletionCriteria: "x", Dependencies: []string{"subtask_1"},
		Expert: "extraction", ExpertName: "Extraction Expert", Pool: "heavy", Pure: true, Timeout: &timeout, Retries: &retries,
	}
	musttest.Equal(t, want, got.Plan.SubJobs[1])
	if got.Plan.SubJobs[0].Language != "German" || got.Plan.SubJobs[2].Context != `{"k":1}` {
		t.Errorf("language %q, context %q", got.Plan.SubJobs[0].Language, got.Plan.SubJobs[2].Context)
	}
	wantWarned := []string{"malformed ", "invalid subtask_2.context", "missing subtask_2.thinking", "invalid subtask_3.context"}
	musttest.Equal(t, wantWarned, places(got.Warnings))

	deer := Check([]byte(`{"locale":"de","has_enough_context":true,"thought":"t","title":"T","steps":[{"need_web_search":true,"title":"Gather","description":"","step_type":"research","execution_res":"known"}]}`), cards(), options())
	yes := true
	wantPlan := &events.Plan{Locale: "de", HasEnoughContext: &yes, Thought: "t", Title: "T", SubJobs: []events.SubJob{{
		ID: "step_1", Goal: "Gather", Title: "Gather", Type: "research", Needs: []string{"web_search"}, Expert: "analysis",
		ExpertName: "Analysis Expert", Pool: "default", ExecutionRes: json.RawMessage(`"known"`),
	}}}
	musttest.Equal(t, wantPlan, deer.Plan)
}

func TestAnExpertIsFoundByThePlainFormOfItsName(t *testing.T) {
	list := append(cards(), events.Card{ID: "agent-1", Name: "First Agent"}, events.Card{ID: "first_agent", Name: "Another"})
	for _, test := range []struct{ name, want string }{
		{"[agent_1]", "agent-1"},
		{"AGENT 1", "agent-1"},
		{"design_expert", "design"},
		{"First Agent", "agent-1"}, // The exact name takes precedence over any other form.
		{"first-agent", ""},        // Two experts have that form.
		{"agent1", ""},
	} {
		got := Check(fmt.Appendf(nil, `{"subjobs":[{"id":"a","goal":"g","expert":%q}]}`, test.name), list, options())
		expert := ""
		if got.Plan != nil {
			expert = got.Plan.SubJobs[0].Expert
		}
		if expert != test.want {
			t.Errorf("%q is %q, want %q: %v", test.name, expert, test.want, got.Faults)
		}
	}
}

func TestNoCardAndNoStepGoesBeyondTheRetriesOfTheRequest(t *testing.T) {
	none, many := 0, 9
	for _, test := range []struct {
		limit *int
		want  []any
	}{{nil, []any{5, 2, nil}}, {&none, []any{0, 0, nil}}, {&many, []any{5, 2, nil}}} {
		o := options()
		o.Retries = test.limit
		got := Check([]byte(`{"subjobs":[{"id":"a","goal":"g","expert":"extraction"},{"id":"b","goal":"g","expert":"extraction","retries":2},{"id":"c","goal":"g","expert":"design"}]}`), cards(), o)
		if got.Plan == nil {
			t.Fatal(got.Faults)
		}
		var retries []any
		for _, s := range got.Plan.SubJobs {
			if s.Retries == nil {
				retries = append(retries, nil) // The limit of the job, from the request.
				continue
			}
			retries = append(retries, *s.Retries)
		}
		if d := cmp.Diff(test.want, retries); d != "" {
			t.Errorf("limit %v (-want +got):\n%s", test.limit, d)
		}
	}
	if *cards()[1].Retries != 5 {
		t.Error("a card was changed")
	}
}

// proves C15
func TestAllFaultsOfAPlanAreReportedTogether(t *testing.T) {
	plan := `{"title":{"a":1},"colour":"red","subjobs":[
		{"id":"a","goal":"g","expert":"design","dependencies":["b","nowhere"]},
		{"id":"b","goal":"g","expert":"design","dependencies":["c"]},
		{"id":"c","goal":"g","expert":"design","dependencies":["b","a"]},
		{"id":"d","goal":"","expert":"Nobody","dependencies":["d"]},
		{"id":"a","goal":"g","expert":"Secret Expert","dependancies":["b"]},
		{"goal":"g","expert":"off","retries":-1,"life_cycle":"two","timeout":"soon","artifacts":"a.csv"},
		{"id":"e","goal":"g","expert":"design","when":"a.x > ","dependencies":["a"]},
		{"id":"f","goal":"g","expert":"design","when":"a.x > 1 and b.y == 2","dependencies":["a"],"needs":["flying"]},
		{"id":"g","goal":"g","expert":"design","schedule":{"pattern":"recurring","daily_time":"9:00","cron":"* * * * *","timezone":"Mars/Base"}},
		{"id":"h","goal":"g","expert":"design","schedule":{"pattern":"recurring","weekly":1},"artifacts":[{"digest":"aa","size":1,"name":"a.csv"}]},
		17
	]}`
	got := Check([]byte(plan), cards(), options())
	if got.Plan != nil {
		t.Fatal("a faulty plan was given out")
	}
	want := []string{
		"unknown_field subjobs[4].dependancies",
		"missing subjobs[5].id",
		"invalid subjobs[5].life_cycle",
		"invalid subjobs[5].retries",
		"invalid subjobs[5].timeout",
		"invalid subjobs[5].artifacts",
		"unknown_field subjobs[9].schedule.weekly",
		"invalid subjobs[10]",
		"unknown_field colour",
		"duplicate_id subjobs[4].id",
		"dangling subjobs[0].dependencies",
		"cycle subjobs[3].dependencies",
		"missing subjobs[3].goal",
		"unknown_expert subjobs[3].expert",
		"hidden_expert subjobs[4].expert",
		"unknown_expert subjobs[5].expert",
		"invalid subjobs[6].when",
		"dangling subjobs[7].when",
		"invalid subjobs[7].needs",
		"invalid subjobs[8].schedule.pattern",
		"invalid subjobs[8].schedule.timezone",
		"invalid subjobs[8].schedule.daily_time",
		"invalid subjobs[9].schedule.pattern",
		"invalid subjobs[9].artifacts",
		"cycle subjobs[0].dependencies",
	}
	musttest.Equal(t, want, places(got.Faults))
	for _, f := range got.Faults {
		if f.Code == events.CodeCycle && f.Field == "subjobs[0].dependencies" && !strings.Contains(f.Message, "a → b → c → a") {
			t.Errorf("the cycle is not named: %s", f.Message)
		}
	}
	if again := Check([]byte(plan), cards(), options()); cmp.Diff(got, again) != "" {
		t.Error("the same bytes gave other faults")
	}
}

// proves C15
func TestSubtasksNeedTheirSixFields(t *testing.T) {
	got := Check([]byte(`{"subtask_1":{"goal":"g"},"subtask_1":{},"subtask_2":"text","subtask_3":{"goal":"g","context":"c","completion_criteria":"","dependencies":"subtask_1","assigned_expert":"Nobody","thinking":"","more":1}}`), cards(), options())
	want := []string{
		"missing subtask_1.context", "missing subtask_1.completion_criteria", "missing subtask_1.dependencies",
		"missing subtask_1.assigned_expert", "missing subtask_1.thinking", "invalid subtask_2", "invalid subtask_3.dependencies",
		"missing subtask_3.completion_criteria", "duplicate_id subtask_1", "unknown_expert subtask_3.assigned_expert",
	}
	musttest.Equal(t, want, places(got.Faults))
	musttest.Equal(t, []string{"missing subtask_3.thinking", "unknown_field subtask_3.more"}, places(got.Warnings))
}

func TestBytesThatAreNoPlanSayWhy(t *testing.T) {
	for _, test := range []struct{ plan, code, message string }{
		{"", "missing", "empty"},
		{"  \n", "missing", "empty"},
		{"{}", "missing", "empty"},
		{`""`, "missing", "empty"},
		{`{"subjobs":[]}`, "missing", "no steps"},
		{`{"steps":[]}`, "missing", "no steps"},
		{`{"tasks":[],"adequate":true}`, "missing", "no steps"},
		{`[]`, "missing", "no steps"},
		{`{"subjobs":{}}`, "invalid", "expected a list"},
		{`null`, "malformed", "null"},
		{`42`, "malformed", "42"},
		{"just words", "malformed", "no JSON"},
		{`{"goal":"g","expert":"design"}`, "malformed", "goal, expert"},
		{"{\n  \"subjobs\": [\n    {\"id\" \"a\"}\n]}", "malformed", "line 3 column 11"},
		{`{"subjobs":[{"id":"a"`, "malformed", "ends inside"},
		{`<decomposition>nothing</decomposition>`, "malformed", "no JSON"},
		{`{"tasks":[],"adequate":false,"reason":"which ticker?"}`, "rejected", "which ticker?"},
	} {
		got := Check([]byte(test.plan), cards(), options())
		if got.Plan != nil || len(got.Faults) != 1 || string(got.Faults[0].Code) != test.code || !strings.Contains(got.Faults[0].Error(), test.message) {
			t.Errorf("%q: %+v", test.plan, got.Faults)
		}
	}
}

func TestAPlanWithoutTasksMayAnswer(t *testing.T) {
	got := Check([]byte(`{"tasks":[],"adequate":true,"reason":"r","guidance_message":"Ask a lawyer."}`), cards(), options())
	if got.Head.Reason != "r" || got.Steps != 0 {
		t.Errorf("head %+v, %d steps", got.Head, got.Steps)
	}
	got.Head = events.Plan{}
	musttest.Equal(t, Result{Dialect: ValueCell, Answer: "Ask a lawyer."}, got)
}

func TestForeignIDsAreMappedAndKept(t *testing.T) {
	got := Check([]byte(`{"subjobs":[{"id":"step one.*","goal":"g"},{"id":"b","goal":"g","dependencies":["step one.*","step one.*"]}]}`), cards(), options())
	if len(got.Faults) > 0 {
		t.Fatal(got.Faults)
	}
	first := got.Plan.SubJobs[0]
	if !events.ValidID(first.ID) || first.Name != "step one.*" {
		t.Errorf("id %q, name %q", first.ID, first.Name)
	}
	musttest.Equal(t, []string{first.ID}, got.Plan.SubJobs[1].Dependencies)
	raw := musttest.JSON(t, got.Plan)
	again := Check(raw, cards(), options())
	if d := cmp.Diff(got.Plan, again.Plan); d != "" {
		t.Errorf("a checked plan changes when it is checked again: %s\n%v", d, again.Faults)
	}
}

func TestAnEditKeepsIDsOfTheJobAndMayDependOnItsResults(t *testing.T) {
	o := options()
	o.Known, o.Done = []string{"a~2~b", "done"}, []string{"done"}
	got := Check([]byte(`{"subjobs":[{"id":"a~2~b","goal":"g","dependencies":["done"]}]}`), cards(), o)
	if d := cmp.Diff([]string{"a~2~b design < done"}, outline(got.Plan)); d != "" {
		t.Error(d, got.Faults)
	}
}

func TestStepsWithAResultNeedNobody(t *testing.T) {
	got := Check([]byte(`{"subjobs":[{"id":"a","goal":"","expert":"Gone","execution_res":{"n":1}},{"id":"b","goal":"g","execution_res":null}]}`), cards(), options())
	if len(got.Faults) > 0 {
		t.Fatal(got.Faults)
	}
	if !got.Plan.SubJobs[0].Done() || got.Plan.SubJobs[1].Done() {
		t.Error("a result is taken for none, or null for a result")
	}
	if len(got.Warnings) > 0 {
		t.Errorf("a step that is done is warned about: %v", got.Warnings)
	}
}

func TestWhoTakesAStepThatNamesNobody(t *testing.T) {
	plan := []byte(`{"steps":["[X] a"]}`)
	two := []events.Card{{ID: "a"}, {ID: "b"}}
	for _, test := range []struct {
		name  string
		cards []events.Card
		o     Options
		want  string
	}{
		{"the job's expert", cards(), Options{DefaultExpert: "Coder 2"}, "step_1 coder"},
		{"the card tagged default", cards(), Options{}, "step_1 design"},
		{"the only one", two[:1], Options{}, "step_1 a"},
		{"none among several", two, Options{}, ""},
		{"none among none", nil, Options{}, ""},
	} {
		got := Check(plan, test.cards, test.o)
		if strings.Join(outline(got.Plan), ",") != test.want {
			t.Errorf("%s: %v %v", test.name, outline(got.Plan), got.Faults)
		}
	}
	twice := []events.Card{{ID: "a", Name: "Same"}, {ID: "b", Name: "same"}}
	got := Check([]byte(`{"subjobs":[{"id":"x","goal":"g","expert":"SAME"},{"id":"y","goal":"g","expert":"same"}]}`), twice, Options{})
	musttest.Equal(t, []string{"conflict subjobs[0].expert"}, places(got.Faults))
}

func TestSchedulesGiveExactlyOneWay(t *testing.T) {
	for _, test := range []struct {
		schedule, want string
		good           bool
	}{
		{`{"interval_minutes":5}`, "recurring", true},
		{`{"at":"2030-01-02T03:04:05Z"}`, "once", true},
		{`{"pattern":"Recurring","daily_time":"23:59","timezone":"Europe/Berlin"}`, "recurring", true},
		{`{"cron":"*/5 0-6,22 1 jan-MAR mon"}`, "recurring", true},
		{`{"cron":"@daily"}`, "recurring", true},
		{`{"at":"2030-01-02T03:04:05","timezone":"Europe/Berlin"}`, "once", true},
		{`{"pattern":"once"}`, "", true},
		{`null`, "", true},
		{`{}`, "", false},
		{`{"pattern":"recurring"}`, "", false},
		{`{"pattern":"weekly","at":"2030-01-02T03:04:05Z"}`, "", false},
		{`{"pattern":"once","daily_time":"09:00"}`, "", false},
		{`{"pattern":"recurring","at":"2030-01-02T03:04:05Z"}`, "", false},
		{`{"interval_minutes":0}`, "", false},
		{`{"interval_minutes":1.5}`, "", false},
		{`{"interval_minutes":5,"daily_time":"09:00"}`, "", false},
		{`{"daily_time":"24:00"}`, "", false},
		{`{"at":"tomorrow"}`, "", false},
		{`{"cron":"* * * *"}`, "", false},
		{`{"cron":"60 * * * *"}`, "", false},
		{`{"cron":"5-1 * * * *"}`, "", false},
		{`{"cron":"*/0 * * * *"}`, "", false},
		{`{"cron":"@reboot"}`, "", false},
		{`{"daily_time":"09:00","timezone":"Mars"}`, "", false},
		{`"daily"`, "", false},
	} {
		got := Check([]byte(`{"subjobs":[{"id":"a","goal":"g","schedule":`+test.schedule+`}]}`), cards(), options())
		pattern := ""
		if got.Plan != nil && got.Plan.SubJobs[0].Schedule != nil {
			pattern = got.Plan.SubJobs[0].Schedule.Pattern
		}
		if (got.Plan != nil) != test.good || pattern != test.want {
			t.Errorf("%s: pattern %q, faults %v", test.schedule, pattern, got.Faults)
		}
	}
}

func TestLimitsOfSize(t *testing.T) {
	long := strings.Repeat("x", MaxText+1)
	got := Check([]byte(`{"subjobs":[{"id":"a","goal":"`+long+`","context":"`+long+`"},{"id":"b","goal":"`+long[1:]+`"}]}`), cards(), Options{MaxSteps: 1})
	musttest.Equal(t, []string{"too_large subjobs", "too_large subjobs[0].goal", "too_large subjobs[0].context"}, places(got.Faults))
	many := "[" + strings.Repeat(`{"id":"a"},`, 5000) + `{"id":"a"}]`
	got = Check([]byte(many), cards(), Options{})
	last := got.Faults[len(got.Faults)-1]
	if len(got.Faults) != MaxFaults+1 || !strings.HasPrefix(last.Message, "and ") {
		t.Errorf("%d faults, the last %q", len(got.Faults), last.Message)
	}
	raw, err := json.Marshal(got.Faults)
	if err != nil || len(raw) > events.MaxMessage/2 {
		t.Errorf("the faults take %d bytes", len(raw))
	}
}

// large is a graph of n steps in chains of the given depth with about the given number of edges.
func large(n, edges int) []byte {
	var b strings.Builder
	b.WriteString(`{"subjobs":[`)
	per := max(1, edges/n)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"s%d","goal":"g","expert":"Design Expert","dependencies":[`, i)
		for k := 1; k <= min(per, i); k++ {
			if k > 1 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"s%d"`, i-k)
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return []byte(b.String())
}

func TestALargeDeepGraphIsChecked(t *testing.T) {
	got := Check(large(13_000, 200_000), cards(), Options{MaxSteps: 20_000})
	if len(got.Faults) > 0 || len(got.Plan.SubJobs) != 13_000 {
		t.Fatal(got.Faults)
	}
	// Closed to one cycle of 13,000 steps.
	circle := strings.Replace(string(large(13_000, 13_000)), `"dependencies":[]`, `"dependencies":["s12999"]`, 1)
	got = Check([]byte(circle), cards(), Options{})
	musttest.Equal(t, []string{"cycle subjobs[0].dependencies"}, places(got.Faults))
	if len(got.Faults[0].Message) > 1000 {
		t.Errorf("the cycle is told in %d bytes", len(got.Faults[0].Message))
	}
}

func BenchmarkCheckLarge(b *testing.B) {
	raw := large(13_000, 200_000)
	all := cards()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if got := Check(raw, all, Options{}); got.Plan == nil {
			b.Fatal(got.Faults)
		}
	}
}

func TestAPresetExpertTakesTheWholeGoal(t *testing.T) {
	got := Single(&events.Request{Goal: "g", Context: "c", Expert: "courier", Locale: "de"}, cards(), Version)
	want := &events.Plan{Locale: "de", OrigQuery: "g", SubJobs: []events.SubJob{{
		ID: "main", Goal: "g", Context: "c", Title: "Run Courier", Language: "de", Expert: "courier", ExpertName: "Courier", Pool: "default",
	}}}
	musttest.Equal(t, want, got.Plan)
	if hidden := Single(&events.Request{Goal: "g", Expert: "secret expert"}, cards(), Version); hidden.Plan == nil {
		t.Error("a hidden expert that was asked for is refused", hidden.Faults)
	}
	for _, name := range []string{"nobody", "Off Expert"} {
		bad := Single(&events.Request{Goal: "g", Expert: name}, cards(), Version)
		if d := cmp.Diff([]string{"unknown_expert expert"}, places(bad.Faults)); d != "" {
			t.Error(name, d)
		}
	}
}

func TestTheFinaliserIsNamedByItsID(t *testing.T) {
	if card, fault := Finaliser("tails", cards()); card != nil || fault != nil {
		t.Error(card, fault)
	}
	if card, fault := Finaliser("expert:analysis", cards()); fault != nil || card.ID != "analysis" {
		t.Error(card, fault)
	}
	if _, fault := Finaliser("expert:Analysis Expert", cards()); fault == nil || fault.Field != "finalize" {
		t.Error(fault)
	}
	if _, fault := Finaliser("expert:nobody", cards()); fault == nil || fault.Code != events.CodeUnknownExpert {
		t.Error(fault)
	}
}

func TestTemplatesPassTheirOwnCheck(t *testing.T) {
	for _, dialect := range Dialects() {
		text, ok := Template(dialect)
		got := Check([]byte(text), cards(), options())
		if !ok || len(got.Faults)+len(got.Warnings) > 0 || got.Dialect != dialect {
			t.Errorf("%s: %s %v %v", dialect, got.Dialect, got.Faults, got.Warnings)
		}
	}
	if _, ok := Template("yaml"); ok {
		t.Error("a template in a dialect that does not exist")
	}
}

func FuzzCheck(f *testing.F) {
	for _, dialect := range Dialects() {
		text, _ := Template(dialect)
		f.Add([]byte(text))
	}
	f.Add([]byte(tagged3))
	f.Add([]byte(`{"subjobs":[{"id":"a","goal":"g","dependencies":["a"],"when":"a.b","schedule":{"cron":"* * * * 8"}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := Check(raw, cards(), options())
		if (got.Plan != nil) == (len(got.Faults) > 0 || got.Answer != "") {
			t.Fatalf("plan %v, answer %q, faults %v", got.Plan != nil, got.Answer, got.Faults)
		}
		if got.Plan == nil {
			return
		}
		text := musttest.Get(json.Marshal(got.Plan))(t)
		again := Check(text, cards(), options())
		if d := cmp.Diff(got.Plan, again.Plan); d != "" {
			t.Fatalf("checked again: %s\n%v", d, again.Faults)
		}
	})
}
