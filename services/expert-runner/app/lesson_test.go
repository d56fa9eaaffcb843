package app_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// The model learns what is wrong with its answer before the run is given up, wherever the provider reports it.
func TestAModelIsToldWhyItsAnswerWasNone(t *testing.T) {
	for name, test := range map[string]struct {
		api, lesson string
		answer      llmtest.Answer
	}{
		"the token limit":          {"chat", "Answer more briefly", llmtest.Answer{Text: "half an ans", Finish: "length"}},
		"the limit inside a chunk": {"chat", "Answer more briefly", llmtest.Answer{Body: "data: {\"error\":{\"message\":\"max completion tokens reached before generating a valid document\",\"code\":\"json_validate_failed\"}}\n\n"}},
		"a call that failed":       {"chat", "<look q=1>", llmtest.Answer{Status: 400, Body: `{"error":{"message":"Failed to call a function.","code":"tool_use_failed","failed_generation":"<look q=1>"}}`}},
		"Anthropic's limit":        {"anthropic", "Answer more briefly", llmtest.Answer{Text: "half an ans", Finish: "length"}},
		"Gemini's malformed call":  {"gemini", "MALFORMED_FUNCTION_CALL", llmtest.Answer{Finish: "MALFORMED_FUNCTION_CALL"}},
	} {
		t.Run(name, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				model := llmtest.New(llmtest.Say(test.answer, llmtest.Answer{Text: "short"}))
				config := filepath.Join(t.TempDir(), "jobgraph.yaml")
				text := fmt.Sprintf("version: 1\nmodels:\n  default: {model: m, base_url: 'http://model.test/v1', api: %s}\n", test.api)
				musttest.Write(t, config, text)
				s, d := app.Default(), app.Deps{Bus: w.Server.Connect("expert-runner"), Doer: model}
				s.Experts, s.WorkDir = []string{card(t, "")}, t.TempDir()
				w.Start("expert-runner", host.Settings{Config: config}, func(ctx context.Context, p *host.Process) error { return app.Run(ctx, p, s, d) }).Await()
				o := work("agent", "j1", "a", 1)
				w.Issue(o)
				if got := w.Report(o); got.Outcome != events.Success || string(got.Output) != `"short"` {
					t.Errorf("report: %+v %+v", got, got.Error)
				}
				if asked := model.Asked(); len(asked) != 2 || !strings.Contains(asked[1].Last("user"), test.lesson) {
					t.Errorf("asked %d times, the last time: %s", len(asked), asked[len(asked)-1].Last("user"))
				}
			})
		})
	}
}
