package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/policy"
)

func judge(args string, lists ...policy.Rules) policy.Action {
	return policy.Gate(lists).Judge(policy.Call{Expert: "clerk", Tool: "bank__pay", Args: json.RawMessage(args)}).Action
}

func TestTheFirstRuleThatFitsDecides(t *testing.T) {
	tests := map[string]struct {
		rules policy.Rules
		want  policy.Action
	}{
		"nothing said is allowed":          {nil, policy.Allow},
		"nothing fits":                     {policy.Rules{{Action: policy.Deny, Tool: "fetch"}}, policy.Allow},
		"a rule about everything":          {policy.Rules{{Action: policy.Deny}}, policy.Deny},
		"a pattern":                        {policy.Rules{{Action: policy.Ask, Tool: "bank__*"}}, policy.Ask},
		"the first of two":                 {policy.Rules{{Action: policy.Allow, Tool: "bank__pa?"}, {Action: policy.Deny}}, policy.Allow},
		"another expert's":                 {policy.Rules{{Action: policy.Deny, Expert: "cook"}}, policy.Allow},
		"the expert's":                     {policy.Rules{{Action: policy.Deny, Expert: "cl*k"}}, policy.Deny},
		"a pattern is held against it all": {policy.Rules{{Action: policy.Deny, Tool: "bank"}}, policy.Allow},
	}
	for name, test := range tests {
		if got := judge(`{}`, test.rules); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// proves F-T9
func TestNamesOfToolsAreComparedWithTheirCase(t *testing.T) {
	for tool, want := range map[string]policy.Action{"bank__pay": policy.Ask, "Bank__Pay": policy.Allow, "BANK__*": policy.Allow} {
		if got := judge(`{}`, policy.Rules{{Action: policy.Ask, Tool: tool}}); got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
}

func TestTheStrictestListHolds(t *testing.T) {
	allow, ask, deny := policy.Rules{{Action: policy.Allow}}, policy.Rules{{Action: policy.Ask}}, policy.Rules{{Action: policy.Deny}}
	for _, test := range []struct {
		file, card policy.Rules
		want       policy.Action
	}{
		{allow, ask, policy.Ask},
		{ask, allow, policy.Ask},
		{deny, allow, policy.Deny},
		{ask, deny, policy.Deny},
		{nil, deny, policy.Deny},
		{policy.Rules{{Action: "typo"}}, allow, "typo"},
	} {
		if got := judge(`{}`, test.file, test.card); got != test.want {
			t.Errorf("%v and %v: %s, want %s", test.file, test.card, got, test.want)
		}
	}
}

func TestArgumentsDecide(t *testing.T) {
	tests := map[string]struct {
		args    map[string]string
		given   string
		ask     bool
		allowed bool
	}{
		"a text":                       {map[string]string{"to": "evil*"}, `{"to":"evil.example"}`, true, true},
		"another text":                 {map[string]string{"to": "evil*"}, `{"to":"good.example"}`, false, false},
		"a missing argument":           {map[string]string{"to": "*"}, `{}`, false, false},
		"two, one of which does not":   {map[string]string{"to": "a", "from": "b"}, `{"to":"a","from":"c"}`, false, false},
		"a deeper one":                 {map[string]string{"order.items.price": ">100"}, `{"order":{"items":[{"price":1},{"price":250}]}}`, true, false},
		"every one of a list":          {map[string]string{"items.price": "<=100"}, `{"items":[{"price":1},{"price":100}]}`, true, true},
		"a number as a text":           {map[string]string{"amount": ">=10"}, `{"amount":"10.0"}`, true, true},
		"what is no number":            {map[string]string{"amount": ">10"}, `{"amount":"ten"}`, true, false},
		"a name in another case":       {map[string]string{"url": "*evil*"}, `{"URL":"http://evil"}`, true, true},
		"a second name in other case":  {map[string]string{"url": "http://good"}, `{"URL":"http://evil","url":"http://good"}`, true, false},
		"any name":                     {map[string]string{"*": "*rm -rf*"}, `{"cmd":"rm -rf /","dir":"."}`, true, false},
		"an object as JSON":            {map[string]string{"q": `{"a":"<b>"}`}, `{"q":{"a":"<b>"}}`, true, true},
		"a truth":                      {map[string]string{"force": "true"}, `{"force":true}`, true, true},
		"an empty list":                {map[string]string{"ids": "[]"}, `{"ids":[]}`, true, true},
		"what is no object":            {map[string]string{"a": "*"}, `[`, false, false},
		"a number that is not written": {map[string]string{"n": "12345678901234567890"}, `{"n":12345678901234567890}`, true, true},
	}
	for name, test := range tests {
		asked := judge(test.given, policy.Rules{{Action: policy.Ask, Args: test.args}}) == policy.Ask
		allowed := judge(test.given, policy.Rules{{Action: policy.Allow, Args: test.args}, {Action: policy.Deny}}) == policy.Allow
		if asked != test.ask || allowed != test.allowed {
			t.Errorf("%s: asked %v, want %v; allowed %v, want %v", name, asked, test.ask, allowed, test.allowed)
		}
	}
}

func TestAPatternCannotBeMadeToTakeForEver(t *testing.T) {
	long := strings.Repeat("a", 20_000)
	if policy.Matches("*a*a*a*a*b", long) || !policy.Matches("*a*a*a*a*", long) || !policy.Matches("?*ä", "xä") || policy.Matches("", "x") {
		t.Error("patterns match wrongly")
	}
}

func TestEveryFaultOfARuleIsTold(t *testing.T) {
	rules := policy.Rules{
		{Tool: "x"},
		{Action: "perhaps"},
		{Action: policy.Allow, Expires: time.Minute},
		{Action: policy.Ask, Expires: -1, Args: map[string]string{"a..b": "*", "n": ">many"}},
		{Action: policy.Ask, User: "ann", Expires: time.Hour, Args: map[string]string{"n": ">1"}},
	}
	var got []string
	for _, f := range rules.Faults("policies") {
		got = append(got, f.Field+": "+f.Message)
	}
	want := []string{
		"policies[0].action: the rule does not say what becomes of a call",
		`policies[1].action: unknown action "perhaps"`,
		"policies[2].user: user and expires are for the action ask",
		"policies[3].expires: must not be negative",
		`policies[3].args: "a..b" names no argument`,
		`policies[3].args.n: ">many" compares with no number`,
	}
	musttest.Equal(t, want, got)
}
