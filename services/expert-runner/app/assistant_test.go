package app_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func TestARunnerWithAModelAndNoCardHasAnAssistant(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		file := filepath.Join(t.TempDir(), "jobgraph.yaml")
		write := func(text string) {
			musttest.Write(t, file, text)
		}
		write("version: 1\n")
		s := app.Default()
		s.Model, s.BaseURL = "scripted", "http://model.invalid/v1"
		w.Config = file
		start(w, s, app.Deps{Doer: llmtest.New(llmtest.Planner{})})
		cards := app.Builtin()
		at := slices.IndexFunc(cards, func(c events.Card) bool { return c.ID == "assistant" })
		if at < 0 {
			t.Fatal("there is no built-in assistant")
		}
		own := cards[at]
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

// The built-in experts come as card files that people may copy and change: each is valid, and has the id of its file name.
func TestEveryBuiltinExpertIsAValidCardFile(t *testing.T) {
	dir := t.TempDir()
	for _, card := range app.Builtin() {
		file, text, err := app.BuiltinFile(card.Name)
		if err != nil || file != card.ID+".md" {
			t.Errorf("%s: %s, %v", card.Name, file, err)
			continue
		}
		musttest.Write(t, filepath.Join(dir, file), text)
	}
	cards, err := app.CheckCards([]string{dir}, func(string) (string, bool) { return "", false })
	if err != nil || len(cards) != len(app.Builtin()) || len(cards) < 16 {
		t.Errorf("%d cards, %v", len(cards), err)
	}
	var fault *events.Fault
	if _, _, err := app.BuiltinFile("codr"); !errors.As(err, &fault) || !strings.Contains(fault.Hint, "did you mean coder?") {
		t.Errorf("got %v", err)
	}
}

// A card of a user replaces the built-in one with the same name.
func TestBuiltinExpertsAreAskedForByNameAndReplacedByCards(t *testing.T) {
	file := musttest.Temp(t, "mine.md", "---\nname: Coder\nkind: human\ndescription: mine\n---\n")
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		s := app.Default()
		s.Model, s.BaseURL, s.Experts = "scripted", "http://model.invalid/v1", []string{file, app.BuiltinExperts}
		start(w, s, app.Deps{Doer: llmtest.New(llmtest.Planner{})})
		want := map[string]string{"coder": "mine"}
		for _, card := range app.Builtin() {
			if card.ID != "coder" {
				want[card.ID] = card.Description
			}
		}
		becomes(w, want)
	})
}

func TestARunnerWithoutAModelHasNoAssistant(t *testing.T) {
	s := app.Default()
	if cards := app.StandIns("", &s, func(string) (string, bool) { return "", false }); len(cards) > 0 {
		t.Errorf("%+v", cards)
	}
}
