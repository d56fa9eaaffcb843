package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func TestARunnerWithAModelAndNoCardHasAnAssistant(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		file := filepath.Join(t.TempDir(), "jobgraph.yaml")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("version: 1\n")
		s := app.Default()
		s.Model, s.BaseURL = "scripted", "http://model.invalid/v1"
		w.Config = file
		start(w, s, app.Deps{Doer: llmtest.New(llmtest.Planner{})})
		own := app.Builtin()[0]
		becomes(w, map[string]string{own.ID: own.Description})
		o := work(own.ID, "j1", "a", 1)
		w.Issue(o)
		if got := w.Report(o); got.Outcome != events.Success || string(got.Output) != `"Scripted answer to: do it"` {
			t.Errorf("%s: %s", got.Outcome, got.Output)
		}
		write("version: 1\nexperts:\n  - {name: clerk, kind: human, description: one}\n")
		becomes(w, map[string]string{"clerk": "one"})
		write("version: 1\n")
		becomes(w, map[string]string{own.ID: own.Description})
	})
}

func TestARunnerWithoutAModelHasNoAssistant(t *testing.T) {
	s := app.Default()
	if cards := app.StandIns("", &s, func(string) (string, bool) { return "", false }); len(cards) > 0 {
		t.Errorf("%+v", cards)
	}
}
