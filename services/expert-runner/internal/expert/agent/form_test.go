package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// proves C32
func TestTheDeliverableIsTheResultAndTheWholeTextWithoutOne(t *testing.T) {
	f := &form{}
	for text, want := range map[string]string{
		"Done.": `"Done."`,
		"I think.\n<deliverable>\nIt is 42.\n</deliverable>\nTASK_DONE": `"It is 42."`,
		"<deliverable>a</deliverable> no: <DELIVERABLE>b</DELIVERABLE>": `"b"`,
		"<deliverable>it goes on":                  `"it goes on"`,
		`<deliverable>{"n": [1, 2]}</deliverable>`: `{"n":[1,2]}`,
		`{"n": 1} and so on`:                       `"{\"n\": 1} and so on"`,
		"42":                                       `"42"`,
	} {
		got, faults := f.read(text)
		if faults != nil || string(got) != want {
			t.Errorf("%q: %s %v", text, got, faults)
		}
	}
	if _, faults := f.read("<deliverable> </deliverable>"); faults == nil {
		t.Error("an empty deliverable is no result")
	}
}

func TestAFormTellsEveryFault(t *testing.T) {
	f := musttest.Get(newForm(json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a","b"]}`)))(t)
	got, faults := f.read("First {\"a\": 1}, but then ```json\n{'a': 2, 'b': 'two',}\n``` as wanted.")
	if string(got) != `{"a":2,"b":"two"}` || faults != nil {
		t.Errorf("%s %v", got, faults)
	}
	_, faults = f.read(`{"a":"one"}`)
	musttest.Equal(t, []string{"/: missing property 'b'", "/a: got string, want integer"}, faults)
	if _, faults = f.read("I would rather not."); len(faults) != 1 || !strings.Contains(faults[0], "no JSON") {
		t.Error(faults)
	}
	words := musttest.Get(newForm(json.RawMessage(`{"type":"string","minLength":3}`)))(t)
	if got, faults := words.read("<deliverable>blue</deliverable>"); string(got) != `"blue"` || faults != nil {
		t.Errorf("%s %v", got, faults)
	}
}

// proves C32
func TestCallsThatAreWrittenIntoTheTextAreCalls(t *testing.T) {
	text := "Let me look.\n<function_call>{\"name\": \"search\", \"call_objective\": \"find\", \"args\": {\"q\": 1,}}</function_call>\n" +
		"<function_call>search(1)</function_call>"
	r := tools(nil, nil)
	r.exchange.careful = true
	said, calls, unreadable := r.written(text, 3)
	want := []conversation.Call{{ID: "text-3-0", Name: "search", Args: `{"q":1}`}, {ID: "text-3-1", Name: "unreadable", Args: "search(1)"}}
	if diff := cmp.Diff(want, calls); diff != "" || said != "Let me look." || unreadable != "" {
		t.Errorf("%q %s", said, diff)
	}
	if said, calls, _ := r.written("Nothing to call.", 1); calls != nil || said != "Nothing to call." {
		t.Errorf("%q %v", said, calls)
	}
}

// A text that can be read in two ways: the value of b may be the rest of a, or not.
const twoWays = `{"a": 1, "b": [one two]}`

func TestAWrittenCallThatIsAGuessIsNotMade(t *testing.T) {
	text := "<function_call>{\"name\": \"pay\", \"args\": {\"to\": [ann bob]}}</function_call>"
	for _, careful := range []bool{true, false} {
		r := tools(nil, nil)
		r.exchange.careful = careful
		_, calls, unreadable := r.written(text, 1)
		if careful == (len(calls) > 0) || careful != strings.Contains(unreadable, "line 1, column") {
			t.Errorf("careful %t: %v, %q", careful, calls, unreadable)
		}
	}
}

func TestAResultThatIsAGuessDoesNotCount(t *testing.T) {
	var trusted []string
	f := musttest.Get(newForm(json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"array","items":{"type":"string"}}},"required":["a"]}`)))(t)
	if got, faults := f.read(twoWays); faults != nil || string(got) != `{"a":1,"b":["one two"]}` {
		t.Errorf("by the rules of an older runner: %s, %v", got, faults)
	}
	f.careful, f.trusted = func() bool { return true }, func(use, trust string) { trusted = append(trusted, use+" "+trust) }
	if got, faults := f.read(twoWays); got != nil || len(faults) != 1 || !strings.Contains(faults[0], "line 1, column 16") {
		t.Errorf("got %s, %v", got, faults)
	}
	if got, faults := f.read(`{"a": "1", "b": ["one" "two"]}`); faults != nil || string(got) != `{"a":1,"b":["one","two"]}` {
		t.Errorf("got %s, %v", got, faults)
	}
	musttest.Equal(t, []string{"deliverable guess", "deliverable repaired"}, trusted)
}

func TestAnEvaluationThatIsAGuessDoesNotCount(t *testing.T) {
	read := evaluationReader(false, func() bool { return true }, nil)
	if got, faults := read(`{"status": "SUCCESS", "status": "EXECUTION_ERROR", "evaluation": "fine", "lesson": ""}`); got != nil || len(faults) != 1 {
		t.Errorf("got %s, %v", got, faults)
	}
	if got, faults := read(`{"status": "SUCCESS", "evaluation": "fine" "lesson": ""}`); got == nil || faults != nil {
		t.Errorf("got %s, %v", got, faults)
	}
}
