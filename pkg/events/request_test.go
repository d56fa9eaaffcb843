package events

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/plainjson"
	"github.com/jobgraph/jobgraph/pkg/events/toolset"
)

func TestTheAncestorsNamesAreAccepted(t *testing.T) {
	r, faults := DecodeRequest([]byte(`{"query":"g","conversation_id":"s","thread_id":"t","user_id":"u","target_agent_name":"x","max_step_num":4,"max_plan_iterations":2,"auto_accepted_plan":false,"enable_background_investigation":true}`))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	steps, rounds, no, yes := 4, 2, false, true
	want := Request{Goal: "g", Session: "s", Thread: "t", User: "u", Expert: "x", Limits: Limits{MaxSteps: &steps, MaxPlanRounds: &rounds}, AutoAccept: &no, Investigate: &yes}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("%+v", r)
	}
}

func TestLimitsKeepWhatAnAliasSays(t *testing.T) {
	r, faults := DecodeRequest([]byte(`{"goal":"g","limits":{"retries":0,"deadline":"1h"},"max_step_num":4}`))
	if len(faults) > 0 || r.Limits.MaxSteps == nil || *r.Limits.MaxSteps != 4 || r.Limits.Retries == nil || *r.Limits.Retries != 0 || r.Limits.Deadline.Std() != time.Hour {
		t.Errorf("%+v %v", r.Limits, faults)
	}
}

func TestEveryFaultOfARequestIsReportedTogether(t *testing.T) {
	_, faults := DecodeRequest([]byte(`{"goall":"g","id":"a.b","priority":"high","limits":{"retries":-1,"max_steps":0,"tokens":0,"cost_usd":-1},"failure_policy":"hope","finalize":"expert:","models":{"planner":"a","plannner":"b"},"query":"x","goal":" "}`))
	var got []string
	for _, f := range faults {
		got = append(got, string(f.Code)+" "+f.Field)
		if f.Message == "" {
			t.Errorf("%s says nothing", f.Field)
		}
	}
	want := []string{"unknown_field goall", "invalid priority", "conflict query", "missing goal", "invalid id", "invalid failure_policy", "invalid models.plannner", "invalid finalize", "invalid limits.max_steps", "invalid limits.retries", "invalid limits.tokens", "invalid limits.cost_usd"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if faults.OrNil() == nil || !strings.Contains(faults.Error(), "goall") {
		t.Error(faults)
	}
}

func TestWhatIsNoRequestIsRefusedWithAHint(t *testing.T) {
	for _, body := range []string{
		"", " ", "null", "[]", `"goal"`, "{", "hello", "\x00", `{"goal":1}`, `{"limits":{"what":1},"goal":"g"}`,
		`{"goal":"g","limits":{"concurrency_key":"k"}}`, `{"goal":"g","limits":{"key_concurrency":1}}`, `{"goal":"g","limits":{"concurrency_key":"k","key_concurrency":0}}`,
		`{"goal":"g","limits":{"concurrency_key":"` + strings.Repeat("k", 257) + `","key_concurrency":1}}`,
		`{"plan":null}`, `{"schedule":5,"goal":"g"}`,
	} {
		if _, faults := DecodeRequest([]byte(body)); len(faults) == 0 {
			t.Errorf("%q is accepted", body)
		}
	}
	for _, body := range []string{`{"goal":"g"}`, `{"plan":{"subjobs":[]}}`, `{"plan_ref":{"digest":"d","size":1}}`, `{"goal":"g","limits":{"concurrency_key":"k","key_concurrency":1}}`} {
		if _, faults := DecodeRequest([]byte(body)); len(faults) > 0 {
			t.Errorf("%s: %v", body, faults)
		}
	}
}

// A label is in every saved state and in every list: 100 KB of it would be a burden to all.
func TestLabelsAndIDsAreBounded(t *testing.T) {
	long := strings.Repeat("x", MaxName+1)
	many := map[string]string{}
	for i := range MaxLabels + 1 {
		many[strings.Repeat("k", i+1)] = "v"
	}
	for name, test := range map[string]struct {
		r    Request
		want Fault
	}{
		"a value": {Request{Labels: map[string]string{"team": long, "ok": long[1:]}}, Fault{
			Code: CodeTooLarge, Field: "labels.team", Message: "the name or value has 257 bytes, at most 256 are taken", Hint: "labels are for finding jobs: hand data over as inputs",
		}},
		"a name": {Request{Labels: map[string]string{long: "v", long[1:]: "v"}}, Fault{
			Code: CodeTooLarge, Field: "labels." + long[:40], Message: "the name or value has 257 bytes, at most 256 are taken", Hint: "labels are for finding jobs: hand data over as inputs",
		}},
		"too many": {Request{Labels: many}, Fault{Code: CodeTooLarge, Field: "labels", Message: "65 labels, at most 64 are taken", Hint: "use fewer labels"}},
		"a dash":   {Request{ID: "-"}, Fault{Code: CodeInvalid, Field: "id", Message: `id "-" does not fit`, Hint: "use 1 to 64 of A-Z a-z 0-9 _ -, not dashes alone, or leave it out"}},
		"dashes":   {Request{ID: "---"}, Fault{Code: CodeInvalid, Field: "id", Message: `id "---" does not fit`, Hint: "use 1 to 64 of A-Z a-z 0-9 _ -, not dashes alone, or leave it out"}},
	} {
		test.r.Goal = "g"
		if got := test.r.Validate(); !reflect.DeepEqual(got, Faults{test.want}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if faults := (&Request{Goal: "g", ID: "-a-", Labels: map[string]string{long[1:]: long[1:]}}).Validate(); len(faults) > 0 {
		t.Error(faults)
	}
}

func TestSpansOfTimeAreReadAsTextOrSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{`"1m30s"`: 90 * time.Second, `90`: 90 * time.Second, `0.5`: 500 * time.Millisecond, `"2"`: 2 * time.Second, `0`: 0} {
		var d Duration
		if err := json.Unmarshal([]byte(text), &d); err != nil || d.Std() != want {
			t.Errorf("%s is read as %s, %v", text, d.Std(), err)
		}
	}
	for _, text := range []string{`-1`, `"-1s"`, `1e99`, `"2000000h"`, `"NaN"`, `"Inf"`, `true`, `{}`, `"soon"`, `""`} {
		var d Duration
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s is read as %s", text, d.Std())
		}
	}
}

// Settings that belong to the operator are refused with what to do instead; values that ask for nothing are ignored.
//
// proves D16
// proves F17
func TestSettingsOfTheOperatorCannotBeSetWithARequest(t *testing.T) {
	r, faults := DecodeRequest([]byte(`{"goal":"g","mcp_settings":{"servers":{}},"enable_deep_thinking":false,"debug":true}`))
	if len(faults) > 0 || r.Goal != "g" || !r.Debug {
		t.Error(faults)
	}
	_, faults = DecodeRequest([]byte(`{"goal":"g","mcp_settings":{"servers":{"x":{"command":"sh"}}},"enable_deep_thinking":true}`))
	if len(faults) != 2 || faults[0].Code != CodeNotPermitted || faults[1].Code != CodeNotPermitted || faults[1].Field != "mcp_settings" || faults[1].Hint == "" || faults[0].Hint == "" {
		t.Error(faults)
	}
}

// proves D16
// proves F17
func TestToolsOfARequestAreReadInEveryForm(t *testing.T) {
	no, two, five := false, 2, 5
	want := toolset.Change{Web: &no, Searches: &two, Results: &five, Servers: map[string]toolset.Server{"bank": {Tools: []string{"balance"}, Experts: []string{"clerk"}}, "docs": {}}}
	for _, body := range []string{
		`{"goal":"g","tools":{"web":false,"searches":2,"results":5,"servers":{"bank":{"tools":["balance"],"experts":["clerk"]},"docs":{}}}}`,
		`{"goal":"g","tools":{"searches":2},"enable_web_search":false,"max_search_results":5,"mcp_settings":{"servers":{"bank":{"enabled_tools":["balance"],"add_to_agents":["clerk"]},"docs":{}}}}`,
	} {
		r, faults := DecodeRequest([]byte(body))
		if len(faults) > 0 || !reflect.DeepEqual(r.Tools, want) {
			t.Errorf("%s is %+v, %v", body, r.Tools, faults)
		}
	}
	if got := want.String(); got != "no web; at most 2 searches in a run; at most 5 results of a search; server bank (balance) for clerk; server docs" {
		t.Error(got)
	}
	for body, field := range map[string]string{
		`{"goal":"g","tools":{"searches":-1}}`:                                                           "tools.searches",
		`{"goal":"g","max_search_results":1001}`:                                                         "tools.results",
		`{"goal":"g","tools":{"servers":{"":{}}}}`:                                                       "tools.servers.",
		`{"goal":"g","tools":{"servers":{"a":{"tools":[""]}}}}`:                                          "tools.servers.a",
		`{"goal":"g","tools":{"servers":{"a":{"command":"sh"}}}}`:                                        "tools",
		`{"goal":"g","tools":{"browser":false}}`:                                                         "tools",
		`{"goal":"g","enable_web_search":"no"}`:                                                          "enable_web_search",
		`{"goal":"g","mcp_settings":[1]}`:                                                                "mcp_settings",
		`{"goal":"g","mcp_settings":{"servers":{"a":{"enabled_tools":["b"],"url":"http://x.example"}}}}`: "mcp_settings",
	} {
		if _, faults := DecodeRequest([]byte(body)); len(faults) != 1 || faults[0].Field != field {
			t.Errorf("%s: %v", body, faults)
		}
	}
}

// usual are requests with common fields alone, others such that have more, or have them in another way than our clients write.
var (
	usual = []string{
		`{"goal":"g"}`, ` { "goal" : "say \"g\"" , "id":"j1", "priority": -3 } `, `{"goal":"目标","goal":"twice","session":"s","user":"u","thread":"t"}`,
		`{"goal":"g","context":"c","locale":"de","profile":"p","expert":"e","finalize":"none","timezone":"UTC"}`,
		`{"goal":"g","plan":{"subjobs":[{"id":"a","goal":"1 < 2"}]}}`, `{"goal":"g","plan": [1.5, null] ,"plan":{}}`, `{"id":"a b","goal":""}`, `{}`,
	}
	others = []string{
		`{"goal":null}`, `{"goal":7}`, `{"goal":"g","priority":1.0}`, `{"goal":"g","limits":{"max_steps":3,"nonsense":1}}`, `{"query":"g"}`, `{"query":"g","goal":"h"}`,
		`{"goal":"g"} {}`, `{"goal":"g",}`, `{"goal":"g","plan":{"torn}`, `{"g\u006fal":"g"}`, `{"Goal":"g"}`, `{"goal":"g","meta":{"user_id":"u"}}`, `[]`, `null`, ``,
	}
)

// alike fails if the short way of reading a request finds anything else than the long one.
func alike(t *testing.T, body string) {
	t.Helper()
	got, faults := DecodeRequest([]byte(body))
	want, all := decodeFields([]byte(body))
	if !reflect.DeepEqual(got, want) || !slices.EqualFunc(faults, all, func(a, b Fault) bool { return reflect.DeepEqual(a, b) }) {
		t.Errorf("%s\ngot  %+v %v\nwant %+v %v", body, got, faults, want, all)
	}
}

func TestUsualRequestsAreReadWithoutReflectionAndAsAllOthers(t *testing.T) {
	for _, body := range usual {
		r, s := Request{}, plainjson.NewScanner([]byte(body))
		if !s.Object(r.scanUsual(s)) || !s.End() {
			t.Errorf("%s is not read the short way", body)
		}
		alike(t, body)
	}
	for _, body := range others {
		alike(t, body)
	}
}

func BenchmarkDecodeRequest(b *testing.B) {
	body := []byte(`{"goal":"a goal of some words","id":"job-17","plan":{"subjobs":[{"id":"a","goal":"first","expert":"x"},{"id":"b","goal":"then","dependencies":["a"],"expert":"x"}]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, faults := DecodeRequest(body); len(faults) > 0 {
			b.Fatal(faults)
		}
	}
}

func FuzzDecodeRequest(f *testing.F) {
	for _, body := range slices.Concat(usual, others) {
		f.Add([]byte(body))
	}
	f.Add([]byte(`{"goal":"g","limits":{"max_steps":3,"deadline":"1h"},"plan":{"subjobs":[]},"labels":{"a":"b"}}`))
	f.Add([]byte(`{"query":"g","max_step_num":4}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		alike(t, string(body))
		r, faults := DecodeRequest(body)
		for _, fault := range faults {
			if fault.Code == "" || fault.Message == "" {
				t.Fatalf("an empty fault: %+v", fault)
			}
		}
		if len(faults) > 0 {
			return
		}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		back, faults := DecodeRequest(data)
		if len(faults) > 0 {
			t.Fatalf("%s is refused: %v", data, faults)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(data) {
			t.Fatalf("%s becomes %s", data, again)
		}
	})
}

// proves V1
func TestMetaNamesTheConversationAndTheUser(t *testing.T) {
	r, faults := DecodeRequest([]byte(`{"query":"gold","target_agent_name":"Ann","meta":{"conversation_id":"c1","user_id":"ada"}}`))
	if len(faults) > 0 || r.Goal != "gold" || r.Expert != "Ann" || r.Session != "c1" || r.User != "ada" {
		t.Errorf("%+v %v", r, faults)
	}
	for body, want := range map[string]string{
		`{"goal":"g","meta":{"conversation":"c1"}}`:                 "unknown_field meta.conversation",
		`{"goal":"g","meta":{"goal":"h"}}`:                          "unknown_field meta.goal",
		`{"goal":"g","meta":{"max_step_num":1}}`:                    "unknown_field meta.max_step_num",
		`{"goal":"g","session":"a","meta":{"conversation_id":"b"}}`: "conflict meta.conversation_id",
		`{"goal":"g","user_id":"a","meta":{"user_id":"b"}}`:         "conflict meta.user_id",
		`{"goal":"g","meta":7}`:                                     "invalid meta",
		`{"goal":"g","meta":{"user_id":7}}`:                         "invalid user_id",
		`{"goal":"g","meta":{"user_id":"b"},"extra":1}`:             "unknown_field extra",
		`{"goal":"g","unattended":true,"auto_accept":false}`:        "invalid unattended",
		`{"goal":"g","unanswered":"guess"}`:                         "invalid unanswered",
	} {
		_, faults := DecodeRequest([]byte(body))
		if len(faults) != 1 || string(faults[0].Code)+" "+faults[0].Field != want {
			t.Errorf("%s: %+v, want %s", body, faults, want)
		}
	}
}
