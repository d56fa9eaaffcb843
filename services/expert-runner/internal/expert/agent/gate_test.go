package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/policy"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// gated is a run with one tool "pay" that returns its arguments, under these rules. calls counts its calls.
func gated(calls *int, rules ...policy.Rule) *run {
	r := tools([]string{"pay", AskPerson}, map[string]tool.Tool{"pay": {Name: "pay", Call: func(_ context.Context, c tool.Call) (string, error) {
		*calls++
		return "paid " + c.Args, nil
	}}})
	r.config.ID, r.config.Gate = "clerk", policy.Gate{rules}
	r.task.Work.Answers = map[string]events.InputClosed{}
	return r
}

func pays(args ...string) *conversation.Command {
	c := &conversation.Command{Kind: conversation.Use, Number: 1}
	for i, a := range args {
		c.Calls = append(c.Calls, conversation.Call{ID: fmt.Sprint(i), Name: "pay", Args: a})
		c.Pending = append(c.Pending, i)
	}
	return c
}

// proves F-T9
// proves F14
func TestTheWordsOfApproval(t *testing.T) {
	for answer, want := range map[string]bool{
		`"approve"`: true, `"APPROVED"`: true, `"Yes"`: true, `" ok "`: true, `"okay"`: true, `"proceed"`: true, `"Continue"`: true, `"accept"`: true,
		`"Accepted"`: true, `"[ACCEPTED]"`: true, `"[approved]"`: true, `"y"`: true, `true`: true, `{"approved":true}`: true, `{"action":"Approve"}`: true,
		`{"action":"edit","args":{"n":1}}`: true, `{"approved":true,"args":null}`: true, `"好的"`: true, `"Yes, go ahead"`: true,
		`"no"`: false, `"不行"`: false, `{"action":"no"}`: false, `"reject"`: false, `"not approved"`: false, `"yes, but less"`: false, `"approve!?"`: false, `"cancel"`: false, `""`: false,
		`"   "`: false, `null`: false, ``: false, `false`: false, `1`: false, `[]`: false, `{}`: false, `{"approved":false}`: false,
		`{"approved":false,"args":{"n":1}}`: false, `{"action":"edit"}`: false, `{"approved":true,"args":[1]}`: false, `{"approved":"yes"}`: false,
		`{"approved":true,"args":"{}"}`: false,
	} {
		if got := readDecision(&events.InputClosed{Action: events.Answered, Answer: json.RawMessage(answer)}); got.approved != want {
			t.Errorf("%s: %+v", answer, got)
		}
	}
}

// A policy without a time leaves it to the job: what closes the question then rejects the call.
func TestAnApprovalThatNobodyGivesIsARejectionAlsoByTheTimeOfTheJob(t *testing.T) {
	calls := 0
	r := gated(&calls, policy.Rule{Action: policy.Ask, Tool: "pay"})
	_, park, err := r.use(t.Context(), pays(`{"to":"ann","n":250}`))
	if err != nil || park == nil || park.ExpiresIn != 0 || string(park.Default) != `{"approved":false,"reason":"no answer in time"}` {
		t.Errorf("%+v %v", park, err)
	}
}

// proves F-T9
// proves F14
func TestACallWaitsForAPersonAndIsMadeAsApproved(t *testing.T) {
	for answer, want := range map[string]struct {
		calls int
		told  string
	}{
		`{"approved":true}`: {1, `paid {"n":250,"to":"<ann>"}`},
		`"approve"`:         {1, `paid {"n":250,"to":"<ann>"}`},
		`{"approved":true,"args":{"to":"bob","n":1e2}}`: {1, "[a person has changed the arguments to {\"n\":1e2,\"to\":\"bob\"}]\npaid {\"n\":1e2,\"to\":\"bob\"}"},
		`"no, too much"`:                                  {0, `{"error":"too much","status":"rejected","tool":"pay"}`},
		`{"approved":false,"reason":"too much"}`:          {0, `{"error":"too much","status":"rejected","tool":"pay"}`},
		`"reject"`:                                        {0, `{"error":"a person has rejected the call","status":"rejected","tool":"pay"}`},
		`{"approved":true,"args":{"to":"eve","n":1}}`:     {0, `{"error":"never to eve","status":"denied","tool":"pay"}`},
		`{"approved":true,"args":{"n":1,"n":2,"to":"x"}}`: {1, "[a person has changed the arguments to {\"n\":2,\"to\":\"x\"}]\npaid {\"n\":2,\"to\":\"x\"}"},
	} {
		calls := 0
		r := gated(&calls, policy.Rule{Action: policy.Deny, Args: map[string]string{"to": "eve"}, Reason: "never to eve"},
			policy.Rule{Action: policy.Ask, Tool: "pay", Reason: "it is money", Expires: time.Hour, User: "boss"})
		c := pays(`{"to":"<ann>","n":250}`)
		_, park, err := r.use(t.Context(), c)
		if err != nil || park == nil || calls != 0 {
			t.Fatalf("%+v %v %d", park, err, calls)
		}
		asked := *park
		asked.Schema = nil
		wanted := events.InputRequested{
			Request: "a~1~approve-1-0", Kind: events.InputApproval, Prompt: "May clerk call pay with {\"n\":250,\"to\":\"<ann>\"}? it is money",
			Options: []string{"approve", "reject"}, User: "boss", ExpiresIn: events.Duration(time.Hour),
			Default: json.RawMessage(`{"approved":false,"reason":"no answer in time"}`),
		}
		if diff := cmp.Diff(wanted, asked); diff != "" {
			t.Fatal(diff)
		}
		if !json.Valid(park.Schema) || strings.Contains(string(park.Schema), "250") {
			t.Errorf("%s", park.Schema)
		}
		r.task.Work.Run = 2
		r.task.Work.Answers[park.Request] = events.InputClosed{Action: events.Answered, Answer: json.RawMessage(answer)}
		for range 2 { // The second time the journal answers.
			facts, park, err := r.use(t.Context(), c)
			if err != nil || park != nil {
				t.Fatal(park, err)
			}
			if diff := cmp.Diff([]string{want.told}, observed(facts)); diff != "" || calls != want.calls {
				t.Errorf("%s: %d calls, %s", answer, calls, diff)
			}
		}
	}
}

// proves F-T9
func TestSeveralApprovalsAreAskedForOneAfterTheOther(t *testing.T) {
	calls := 0
	r := gated(&calls, policy.Rule{Action: policy.Ask, Args: map[string]string{"n": ">10"}})
	c := pays(`{"n":1}`, `{"n":11}`, `{"n":12}`)
	for i, answer := range []string{`"yes"`, `"no"`} {
		_, park, err := r.use(t.Context(), c)
		if err != nil || park == nil || park.Request != fmt.Sprintf("a~%d~approve-1-%d", i+1, i+1) || calls != i+1 {
			t.Fatalf("%+v %v %d", park, err, calls)
		}
		r.task.Work.Answers[park.Request] = events.InputClosed{Action: events.Answered, Answer: json.RawMessage(answer)}
		r.task.Work.Run++
	}
	facts, park, err := r.use(t.Context(), c)
	if err != nil || park != nil {
		t.Fatal(park, err)
	}
	if diff := cmp.Diff([]string{`paid {"n":1}`, `paid {"n":11}`, `{"error":"a person has rejected the call","status":"rejected","tool":"pay"}`}, observed(facts)); diff != "" || calls != 2 {
		t.Errorf("%d calls, %s", calls, diff)
	}
}

// proves F-T9
func TestWhatIsNotAllowedIsToldAndNotDone(t *testing.T) {
	calls := 0
	r := gated(&calls, policy.Rule{Action: policy.Deny, Args: map[string]string{"n": ">10"}, Reason: "too much"}, policy.Rule{Action: policy.Deny, Tool: AskPerson},
		policy.Rule{Action: policy.Ask, Args: map[string]string{"n": "7"}})
	var mu sync.Mutex // Guards counted: calls are made side by side.
	counted := map[string]int{}
	r.config.Unattended = true
	r.config.Called = func(_, outcome string) {
		mu.Lock()
		defer mu.Unlock()
		counted[outcome]++
	}
	c := pays(`{"n":11}`, `{"n":7}`, `n = 1`, `{"n":1}`)
	c.Calls = append(c.Calls, conversation.Call{ID: "p", Name: AskPerson, Args: `{"question":"May I?"}`}, conversation.Call{ID: "g", Name: "gone", Args: `{}`})
	c.Pending = append(c.Pending, 4, 5)
	facts, park, err := r.use(t.Context(), c)
	if err != nil || park != nil {
		t.Fatal(park, err)
	}
	got := observed(facts)
	if !strings.HasPrefix(got[2], "Error: the arguments are no JSON object") {
		t.Error(got[2])
	}
	got[2] = ""
	want := []string{
		`{"error":"too much","status":"denied","tool":"pay"}`, `{"error":"a person has to approve of it, and no person is available","status":"denied","tool":"pay"}`,
		"", `paid {"n":1}`, `{"error":"a policy does not allow the call","status":"denied","tool":"ask_person"}`, `Error: there is no tool "gone", but ask_person, pay`,
	}
	if diff := cmp.Diff(want, got); diff != "" || calls != 1 {
		t.Errorf("%d calls: %s", calls, diff)
	}
	musttest.Equal(t, map[string]int{"denied": 3, "error": 1, "ok": 1}, counted)
}

func TestFilesWaitForTheApprovalBeforeThem(t *testing.T) {
	var order []string
	local := func(name string) tool.Tool {
		return tool.Tool{Local: true, Call: func(context.Context, tool.Call) (string, error) {
			order = append(order, name)
			return name, nil
		}}
	}
	r := tools([]string{"read", "write"}, map[string]tool.Tool{"read": local("read"), "write": local("write")})
	r.config.Gate = policy.Gate{{{Action: policy.Ask, Tool: "write"}}}
	c := asks("read", "write", "read")
	_, park, err := r.use(t.Context(), c)
	if err != nil || park == nil {
		t.Fatal(park, err)
	}
	musttest.Equal(t, []string{"read"}, order)
	r.task.Work.Answers = map[string]events.InputClosed{park.Request: {Action: events.Answered, Answer: json.RawMessage(`"ok"`)}}
	if facts, park, err := r.use(t.Context(), c); err != nil || park != nil || len(facts) != 3 {
		t.Fatal(park, err)
	}
	musttest.Equal(t, []string{"read", "read", "write", "read"}, order)
}

func TestNobodyApprovesOfWhatCannotBeShown(t *testing.T) {
	calls := 0
	r := gated(&calls, policy.Rule{Action: policy.Ask})
	facts, park, err := r.use(t.Context(), pays(`{"text":"`+strings.Repeat("x", maxAsked)+`"}`))
	if err != nil || park != nil || calls != 0 || !strings.Contains(facts[0].Result, "at most 65536 can be shown") {
		t.Fatalf("%+v %v %d %v", park, err, calls, facts)
	}
	for _, worst := range []string{"<", "\x7f", "\u202e"} {
		_, park, err = r.use(t.Context(), pays(`{"text":"`+strings.Repeat(worst, (maxAsked-20)/len(worst))+`"}`))
		if err != nil || park == nil {
			t.Fatalf("%q: %v", worst, err)
		}
		if body, err := events.Marshal(park); err != nil || len(body) > events.MaxMessage*9/10 {
			t.Errorf("%q: the question has %d bytes, and no room in a message: %v", worst, len(body), err)
		}
	}
	_, park, err = r.use(t.Context(), pays("{\"text\":\"a\u202eb\u009bc\U000E0041\\u001b\"}"))
	if err != nil || !strings.Contains(park.Prompt, `{"text":"a\u202eb\u009bc\udb40\udc41\u001b"}`) {
		t.Fatalf("%+v %v", park, err)
	}
}

// proves F-T9
func TestAToolThatNeedsApprovalIsOfferedAsItIs(t *testing.T) {
	calls := 0
	free, bound := gated(&calls), gated(&calls, policy.Rule{Action: policy.Ask})
	for _, r := range []*run{free, bound} {
		r.tools["pay"] = tool.Tool{Name: "pay", Description: "Pays.", Schema: json.RawMessage(`{"type":"object"}`), Call: r.tools["pay"].Call}
	}
	musttest.Equal(t, free.offered(), bound.offered())
}

func TestNobodyKnowsWhatBecameOfACall(t *testing.T) {
	lost := func(context.Context, tool.Call) (string, error) {
		return "", fmt.Errorf("the line broke: %w", expert.ErrUnknown)
	}
	r := tools([]string{"once", "often"}, map[string]tool.Tool{"once": {Once: true, Call: lost}, "often": {Call: lost}})
	_, _, err := r.use(t.Context(), asks("once", "often"))
	if !errors.Is(err, expert.ErrUnknown) {
		t.Fatal(err)
	}
	e := r.cut(err)
	if e.Park == nil || e.Park.Kind != events.InputUnknown || !strings.Contains(e.Park.Prompt, "took effect:\n- tool once tool/1/0 with {}\n") {
		t.Errorf("%+v", e.Park)
	}
	musttest.Equal(t, map[string]json.RawMessage{"tool/1/1": json.RawMessage(`"Error: the line broke: it is unknown whether it took effect"`)}, r.task.Hand.(*hand).kept)
}

func TestTheKeyOfACallIsThatOfTheRunThatAskedForIt(t *testing.T) {
	var keys []string
	r := tools([]string{"a"}, map[string]tool.Tool{"a": {Call: func(_ context.Context, c tool.Call) (string, error) {
		keys = append(keys, c.Key)
		return "", errors.New("again")
	}}})
	w := r.task.Work
	w.Job, w.Run, w.IdempotencyKey = "j", 3, "j/a/3"
	for _, asked := range []int{3, 1} {
		r.asked[1] = asked
		clear(r.task.Hand.(*hand).kept)
		if _, _, err := r.use(t.Context(), asks("a")); err != nil {
			t.Fatal(err)
		}
	}
	musttest.Equal(t, []string{"j/a/3/tool/1/0", "j/a/1/tool/1/0"}, keys)
}

// A run that continues after a crash counts the searches that the journal answers.
//
// proves F17
func TestNoSearchIsMadeBeyondThoseThatTheRequestAllows(t *testing.T) {
	calls, two := 0, 2
	all := map[string]tool.Tool{tool.SearchWeb: {Name: tool.SearchWeb, Call: func(context.Context, tool.Call) (string, error) {
		calls++
		return "found", nil
	}}}
	r := tools([]string{tool.SearchWeb}, all)
	r.config.limits.Searches = &two
	denied := `{"error":"the request allows 2 searches in a run, and no more is left: work with what was found","status":"denied","tool":"search_web"}`
	for range 2 {
		r.searched = 0 // Another process continues with the same journal.
		facts, park, err := r.use(t.Context(), asks(tool.SearchWeb, tool.SearchWeb, tool.SearchWeb))
		if err != nil || park != nil {
			t.Fatal(park, err)
		}
		if diff := cmp.Diff([]string{"found", "found", denied}, observed(facts)); diff != "" || calls != 2 {
			t.Errorf("%d calls, %s", calls, diff)
		}
		next := asks(tool.SearchWeb)
		next.Number = 2
		if facts, _, _ := r.use(t.Context(), next); len(facts) != 1 || facts[0].Result != denied || calls != 2 {
			t.Errorf("%d calls, %v", calls, facts)
		}
	}
}
