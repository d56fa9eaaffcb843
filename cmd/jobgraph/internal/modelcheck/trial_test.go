package modelcheck_test

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/modelcheck"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// able answers like a model that can do everything; change degrades the answers.
func able(change func(q llmtest.Question, a llmtest.Answer) llmtest.Answer) llmtest.Func {
	return func(q llmtest.Question) (llmtest.Answer, error) {
		a := llmtest.Answer{Text: "one two three"}
		switch {
		case q.Schema != nil:
			a.Text = `{"name":"Elbe","length":1094}`
		case len(q.Tools) > 0 && q.Last("tool") == "":
			a = llmtest.Answer{Calls: []llmtest.Call{{Name: "add", Args: `{"a":17,"b":25}`}}}
		case len(q.Tools) > 0:
			a.Text = "Its mark is heron."
		}
		return change(q, a), nil
	}
}

func TestEachAbilityOfAModelIsTriedAndItsLackFound(t *testing.T) {
	zero := 0
	for name, c := range map[string]struct {
		change func(q llmtest.Question, a llmtest.Answer) llmtest.Answer
		lacks  string
		note   string
		fatal  llm.Class
	}{
		"able": {func(_ llmtest.Question, a llmtest.Answer) llmtest.Answer { return a }, "", "", ""},
		"no tools": {func(q llmtest.Question, a llmtest.Answer) llmtest.Answer {
			if len(a.Calls) > 0 {
				return llmtest.Answer{Text: "17 and 25 are 42."}
			}
			return a
		}, "tools", "calls no tool", ""},
		"wrong arguments": {func(_ llmtest.Question, a llmtest.Answer) llmtest.Answer {
			if len(a.Calls) > 0 {
				a.Calls[0].Args = `{"a":17}`
			}
			return a
		}, "tools", "not the one that was asked for", ""},
		"deaf to its tools": {func(_ llmtest.Question, a llmtest.Answer) llmtest.Answer {
			a.Text = strings.ReplaceAll(a.Text, "heron", "unknown")
			return a
		}, "tools", "does not use", ""},
		"prose only": {func(q llmtest.Question, a llmtest.Answer) llmtest.Answer {
			if q.Schema != nil {
				a.Text = "The Elbe is long."
			}
			return a
		}, "schema", "not of the form", ""},
		"cut streams": {func(q llmtest.Question, a llmtest.Answer) llmtest.Answer {
			if q.Stream {
				a.Fault = llmtest.CutStream
			}
			return a
		}, "stream", "", ""},
		"a wrong key": {func(llmtest.Question, llmtest.Answer) llmtest.Answer {
			return llmtest.Answer{Status: 401, Error: "invalid key"}
		}, "text", "", llm.Auth},
		"no money": {func(llmtest.Question, llmtest.Answer) llmtest.Answer {
			return llmtest.Answer{Status: 402, Error: "insufficient credit"}
		}, "text", "", llm.Quota},
		"an unknown model": {func(llmtest.Question, llmtest.Answer) llmtest.Answer {
			return llmtest.Answer{Status: 404, Error: "the model does not exist"}
		}, "text", "", llm.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			config := llm.Config{"m": {Retries: &zero, Price: &llm.Price{Prompt: 1000, Completion: 1000}}}
			engine := musttest.Get(llm.New(config, llm.Settings{Doer: llmtest.New(able(c.change))}))(t)
			defer engine.Close()
			trials, err := modelcheck.Run(t.Context(), engine, "m")
			if (err != nil) != (c.fatal != "") || err != nil && llm.ClassOf(err) != c.fatal {
				t.Errorf("the error is %v", err)
			}
			if want := 4; c.fatal == "" && len(trials) != want || c.fatal != "" && len(trials) != 1 {
				t.Errorf("%d trials", len(trials))
			}
			for _, trial := range trials {
				if trial.Works != (trial.Name != c.lacks) || trial.Name == c.lacks && !strings.Contains(trial.Note, c.note) {
					t.Errorf("%+v", trial)
				}
				if trial.Works && (trial.Tokens == 0 || trial.CostUSD == 0) {
					t.Errorf("its cost is not counted: %+v", trial)
				}
			}
		})
	}
}
