package agent

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

func TestACallWhoseArgumentsAreAGuessIsNotMadeAndThePlaceIsNamed(t *testing.T) {
	calls := 0
	r := gated(&calls)
	r.exchange.careful = true
	var trusted []string
	r.config.Trusted = func(use, trust string) { trusted = append(trusted, use+" "+trust) }
	facts, _, err := r.use(t.Context(), pays(`{"to": [ann bob]}`, `{"to": ["ann" "bob"]}`, `{"to": ["ann"`, `{"to": []}`))
	if err != nil {
		t.Fatal(err)
	}
	got := observed(facts)
	if calls != 2 || !strings.Contains(got[0], "line 1, column 9") || got[1] != `paid {"to":["ann","bob"]}` || !strings.HasPrefix(got[2], mishap) {
		t.Errorf("%d calls: %q", calls, got)
	}
	musttest.Equal(t, []string{"tool guess", "tool repaired", "tool none", "tool unchanged"}, trusted)
}

// guessing runs an agent with a form and tools once. Its model gives these answers.
func guessing(t *testing.T, said ...any) (*story, *events.SubJobReported) {
	t.Helper()
	s := &story{answers: map[string]events.InputClosed{}}
	c := Config{
		Client: &words{said: said}, Toolboxes: []Toolbox{box{}}, Tools: []string{"dig"},
		Schema: []byte(`{"type":"object","required":["n"],"properties":{"n":{"type":"array","items":{"type":"string"}}}}`),
	}
	e := s.told(t, c, events.Work{Goal: "dig"})
	if e.Report == nil {
		t.Fatalf("%+v", e)
	}
	return s, e.Report
}

func TestAnAgentIsAskedAgainForAGuessAndFailsWithThePlaceNamed(t *testing.T) {
	const guess = `{"n": [a b]}`
	if _, r := guessing(t, guess, `{"n": ["a", "b"]}`); r.Outcome != events.Success || string(r.Output) != `{"n":["a","b"]}` {
		t.Errorf("%+v", r)
	}
	_, r := guessing(t, guess, guess)
	if r.Outcome == events.Success || r.Error == nil || r.Error.Code != events.CodeMalformed || !strings.Contains(r.Error.Cause, "line 1, column 8") {
		t.Errorf("%+v, %+v", r, r.Error)
	}
	written := `<function_call>{"name": "dig", "args": {"n": [a b]}}</function_call>`
	if _, r := guessing(t, written, written, written); r.Error == nil || r.Error.Code != events.CodeMalformed {
		t.Errorf("%+v", r)
	}
}

func TestWhatWasAskedAgainIsAskedAgainInTheReplay(t *testing.T) {
	for name, said := range map[string][]any{
		"a result":       {`{"n": [a b]}`, `{"n": ["a"]}`},
		"a written call": {`<function_call>{"name": "dig", "args": {"n": [a b]}}</function_call>`, `{"n": ["a"]}`},
		"arguments":      {[]llm.Call{{ID: "x", Name: "dig", Args: `{"n": [a b]}`}}, `{"n": ["a"]}`},
	} {
		s, _ := guessing(t, said...)
		if r, err := s.recording(len(s.journal)).Replay(1); err != nil || r.State != ReplaySame {
			t.Errorf("%s: %v %+v", name, err, r)
		}
	}
}

func TestAJournalOfAnOlderRunnerIsReadByItsRules(t *testing.T) {
	s, _ := guessing(t, `{"n": ["a"]}`)
	rec := tampered(t, s, "model/1", `[\"a\"]}`, `[\"a\"], ...}`) // Older runners removed the dots; now they make the value a guess.
	if r, err := rec.Replay(1); err != nil || r.State == ReplaySame {
		t.Errorf("by the rules of today: %v %+v", err, r)
	}
	s.journal = rec.Journal
	if r, err := tampered(t, s, "model/1", `,"careful":true`, ``).Replay(1); err != nil || r.State != ReplaySame {
		t.Errorf("by the rules of then: %v %+v", err, r)
	}
	for _, careful := range []bool{true, false} {
		run := tools(nil, nil)
		run.asked = map[int]int{}
		run.exchange = exchange{careful: true, began: &beginning{}}
		run.answered(&answer{Began: &beginning{Rules: conversation.Rules{Careful: careful}}}, &conversation.Command{Number: 1})
		if run.isCareful() != careful {
			t.Errorf("taken up by another runner: careful %t, want %t", run.isCareful(), careful)
		}
	}
}
