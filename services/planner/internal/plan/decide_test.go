package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestWhatPlanningWorkIsAnsweredWith(t *testing.T) {
	valid := []byte(`{"subjobs":[{"id":"a","goal":"g"}]}`)
	for _, test := range []struct {
		name  string
		work  events.Work
		raw   []byte
		kind  events.Kind
		codes []events.Code
	}{
		{"a plan", events.Work{Kind: events.WorkPlan, Request: &events.Request{}}, valid, events.KindGraphCreated, nil},
		{"a plan wins over an expert", events.Work{Kind: events.WorkPlan, Request: &events.Request{Expert: "coder"}}, valid, events.KindGraphCreated, nil},
		{"an expert", events.Work{Kind: events.WorkPlan, Request: &events.Request{Goal: "g", Expert: "coder"}}, nil, events.KindGraphCreated, nil},
		{"an unknown expert", events.Work{Kind: events.WorkPlan, Request: &events.Request{Goal: "g", Expert: "x"}}, nil, events.KindPlanRejected, []events.Code{events.CodeUnknownExpert}},
		{"guidance", events.Work{Kind: events.WorkPlan, Request: &events.Request{}}, []byte(`{"tasks":[],"guidance_message":"no"}`), events.KindJobAnswered, nil},
		{"a goal alone", events.Work{Kind: events.WorkPlan, Request: &events.Request{Goal: "g"}}, nil, events.KindPlanRejected, []events.Code{events.CodeNoPlanner}},
		{"a split", events.Work{Kind: events.WorkSplit, SubJob: "a", Request: &events.Request{}}, valid, events.KindPlanRejected, []events.Code{events.CodeNoPlanner}},
		{"a re-plan", events.Work{Kind: events.WorkReplan, Request: &events.Request{}}, valid, events.KindPlanRejected, []events.Code{events.CodeNoPlanner}},
		{"work for somebody else", events.Work{Kind: events.WorkExecute}, nil, events.KindPlanRejected, []events.Code{events.CodeInvalid}},
		{"no request", events.Work{Kind: events.WorkPlan}, nil, events.KindPlanRejected, []events.Code{events.CodeMissing}},
		{
			"too many steps, unknown finaliser",
			events.Work{Kind: events.WorkPlan, MaxSteps: 1, Request: &events.Request{Finalize: "expert:x"}},
			[]byte(`["[design] a","b"]`), events.KindPlanRejected,
			[]events.Code{events.CodeTooLarge, events.CodeUnknownExpert},
		},
	} {
		d := Decide(&test.work, test.raw, cards(), Options{})
		var codes []events.Code
		for _, f := range d.Faults {
			codes = append(codes, f.Code)
			if f.Code == events.CodeNoPlanner && f.Hint == "" {
				t.Errorf("%s: no way out is told", test.name)
			}
		}
		if diff := cmp.Diff(test.codes, codes); diff != "" || d.Kind != test.kind || (d.Plan != nil) != (d.Kind == events.KindGraphCreated) {
			t.Errorf("%s: %s %s", test.name, d.Kind, diff)
		}
	}
}

func TestAPlanTakesFromItsRequestWhatItDoesNotSay(t *testing.T) {
	w := events.Work{Kind: events.WorkPlan, Request: &events.Request{Goal: "the goal", Locale: "de", Expert: "Coder 2", Finalize: "expert:extraction"}}
	d := Decide(&w, json.RawMessage(`["do it"]`), cards(), Options{DefaultExpert: "design"})
	if d.Plan == nil || d.Plan.OrigQuery != "the goal" || d.Plan.Locale != "de" || d.Plan.SubJobs[0].Expert != "coder" || d.Final.ID != "extraction" {
		t.Errorf("%+v %v", d.Plan, d.Faults)
	}
}

// many is a plan with more faulty steps than faults are reported, all for one expert; last is the goal of the last step.
func many(expert, last string) string {
	var b strings.Builder
	for i := range MaxFaults + 20 {
		fmt.Fprintf(&b, `{"id":"s%d","goal":"g","expert":%q},`, i, expert)
	}
	return `{"subjobs":[` + b.String() + `{"id":"last","goal":"` + last + `","expert":"design"}]}`
}

func TestOnlyAbsentExpertsAreWorthWaitingFor(t *testing.T) {
	for _, test := range []struct {
		plan string
		want bool
	}{
		{`{"subjobs":[{"id":"a","goal":"g","expert":"later"}]}`, true},
		{`{"subjobs":[{"id":"a","goal":"","expert":"later"}]}`, false},
		{`{"subjobs":[{"id":"a","goal":"g","expert":"secret"}]}`, false},
		{`{"subjobs":[{"id":"a","goal":"g","expert":"design"}]}`, false},
		{many("later", "g"), true},
		{many("later", ""), false},
		{many("secret", "g"), false},
	} {
		d := Decide(&events.Work{Kind: events.WorkPlan, Request: &events.Request{}, MaxSteps: 1000}, []byte(test.plan), cards(), Options{})
		if d.Absent() != test.want {
			t.Errorf("%.200s: %v", test.plan, d.Faults)
		}
	}
}
