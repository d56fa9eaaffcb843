package app_test

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// An agent stops near what its job had left when the work was issued, and counts only what its own run has spent.
func TestAnAgentStopsWhereTheBudgetOfItsJobEnds(t *testing.T) {
	cost := 0.5
	for name, test := range map[string]struct {
		keys  string
		left  events.Spent
		asked int
		code  events.Code
		cause string
	}{
		"tokens":  {"", events.Spent{Tokens: 25}, 3, events.CodeBudget, "the 25 tokens that the job had left"},
		"cost":    {"", events.Spent{CostUSD: 0.7}, 2, events.CodeBudget, "the 0.7000 USD that the job had left"},
		"summary": {"on_budget: summary\n", events.Spent{Tokens: 15}, 3, "", ""},
		"none":    {"max_turns: 5\n", events.Spent{}, 5, events.CodeBudget, "5 turns"},
	} {
		t.Run(name, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				turns := 0
				model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
					turns++
					usage := &llmtest.Usage{Prompt: 10, CostUSD: &cost}
					if len(q.Tools) == 0 || q.ToolChoice == "none" {
						return llmtest.Answer{Usage: usage, Text: "so far so good"}, nil
					}
					return llmtest.Answer{Usage: usage, Text: strings.Repeat("on and ", turns), Calls: []llmtest.Call{{Name: "list_files", Args: `{}`}}}, nil
				}))
				start(w, agents(t, card(t, "tools: [list_files]\n"+test.keys)), app.Deps{Doer: model})
				o := work("agent", "j1", "a", 1)
				o.Budget = test.left
				w.Issue(o)
				got := w.Report(o)
				if turns != test.asked || got.Tokens != int64(10*test.asked) {
					t.Errorf("asked %d times for %d tokens, want %d times", turns, got.Tokens, test.asked)
				}
				switch {
				case test.code == "" && (got.Outcome != events.Success || !strings.Contains(string(got.Output), "so far so good")):
					t.Errorf("report: %+v", got)
				case test.code != "" && (got.Error == nil || got.Error.Code != test.code || got.Error.Cause != test.cause):
					t.Errorf("report: %+v", got.Error)
				}
			})
		})
	}
}
