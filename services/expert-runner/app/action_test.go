package app_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

const actions = `version: 1
tools:
  pay: {subject: tools.pay}
  look: {subject: tools.look}
toolkit:
  buy: {description: Buy it, tools: {pay: 1, fetch: 0.3}, next: {choose: 0.7}}
  choose: {tools: {look: 0.6}}
`

// offered returns the tools in the nth question to a model, sorted.
func offered(t *testing.T, model *llmtest.Server, n int) []string {
	t.Helper()
	asked := model.Asked()
	if len(asked) <= n {
		t.Fatalf("asked %d times", len(asked))
	}
	return slices.Sorted(maps.Keys(asked[n].Tools))
}

// proves C33
func TestAnAgentGetsTheToolsThatTheToolkitRecommendsForItsActions(t *testing.T) {
	for name, test := range map[string]struct {
		keys  string
		tools [][]string
		told  string
	}{
		"no hop":            {"actions: [buy]\n", [][]string{{"pay"}}, "Ways to go about it:\n- buy: Buy it (pay)\n"},
		"a hop, own tools":  {"actions: [buy]\nhops: 1\ntools: [list_files, pay]\n", [][]string{{"list_files", "look", "pay"}}, "- buy: Buy it (pay)\n- choose (look)\n"},
		"a lower threshold": {"actions: [buy]\nthreshold: 0.3\n", [][]string{{"fetch", "pay"}}, "- buy: Buy it (fetch, pay)\n"},
		"steps of a workflow": {
			"tools: [list_files]\nworkflow: [{instruction: One., actions: [choose]}, {instruction: Two., actions: [buy], tools: [list_files]}, {instruction: Three., tools: []}]\n",
			[][]string{{"look"}, {"list_files", "pay"}, nil},
			"One.\n\nWays to go about it:\n- choose (look)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				model := lines(says("", "done"))
				file := filepath.Join(folder(t, map[string]string{"jobgraph.yaml": actions}), "jobgraph.yaml")
				w.Config = file
				start(w, agents(t, card(t, test.keys)), app.Deps{Doer: model})
				o := work("agent", "j1", "a", 1)
				w.Issue(o)
				if got := w.Report(o); string(got.Output) != `"done"` {
					t.Fatalf("report: %+v %+v", got, got.Error)
				}
				var tools [][]string
				for i := range model.Asked() {
					tools = append(tools, offered(t, model, i))
				}
				musttest.Equal(t, test.tools, tools)
				if text := model.Asked()[0].All(); !strings.Contains(text, test.told) {
					t.Error(text)
				}
			})
		})
	}
}

// proves C-T8
func TestARecommendationFollowsTheToolkitThroughEachChange(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		model := lines(says("", "done"))
		file := filepath.Join(folder(t, map[string]string{"jobgraph.yaml": actions}), "jobgraph.yaml")
		w.Config = file
		r := start(w, agents(t, card(t, "actions: [buy]\nhops: 1\n")), app.Deps{Doer: model})
		for n, step := range []struct{ edits, want []string }{
			{nil, []string{"look", "pay"}},
			{[]string{"tools: {look: 0.6", "tools: {look: 0.6, list_files: 1"}, []string{"list_files", "look", "pay"}}, // Added.
			{[]string{"look: 0.6", "look: 0.1"}, []string{"list_files", "pay"}},                                        // Updated.
			{[]string{"  pay: {subject: tools.pay}\n", "", "pay: 1, ", ""}, []string{"list_files"}},                    // Removed.
			{[]string{", next: {choose: 0.7}", "", "  choose: {tools: {look: 0.1, list_files: 1}}\n", ""}, []string{}}, // An action, with all that only it leads to.
		} {
			if n > 0 {
				place(t, file, strings.NewReplacer(step.edits...).Replace(string(musttest.Read(t, file))))
				w.Until("the toolkit has changed", func() bool {
					return sum(t, r.Metrics.Gatherer(), "jobgraph_runner_catalog_reloads_total") >= float64(n)
				})
			}
			o := work("agent", fmt.Sprint("j", n), "a", 1)
			w.Issue(o)
			w.Report(o)
			musttest.Equal(t, step.want, append([]string{}, offered(t, model, n)...))
		}
	})
}

func TestActionsOfCardsAndToolkitAreChecked(t *testing.T) {
	for name, test := range map[string]struct{ config, keys, want string }{
		"unknown action":         {actions, "actions: [by]\n", `actions: there is no action "by" (did you mean buy?)`},
		"unknown action, step":   {actions, "workflow: [{instruction: A, actions: [sell]}]\n", `there is no action "sell"`},
		"nothing to begin with":  {actions, "hops: 1\n", "there is nothing to begin a recommendation with"},
		"hops":                   {actions, "actions: [buy]\nhops: -1\n", "must not be negative"},
		"threshold":              {actions, "actions: [buy]\nthreshold: 2\n", "2 is not from 0 to 1"},
		"unknown tool":           {strings.Replace(actions, "pay: 1", "pray: 1", 1), "", `jobgraph.yaml:6:`},
		"unknown tool, its name": {strings.Replace(actions, "pay: 1", "pray: 1", 1), "", `there is no tool "pray"`},
		"unknown next":           {strings.Replace(actions, "choose: 0.7", "chose: 0.7", 1), "", `there is no action "chose"`},
		"score":                  {strings.Replace(actions, "0.6", "6", 1), "", "the score 6 is not from 0 to 1"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(folder(t, map[string]string{"jobgraph.yaml": test.config}), "jobgraph.yaml")
			_, err := app.CheckCards([]string{file, card(t, test.keys)}, noEnv)
			if err == nil || !strings.Contains(fmt.Sprintf("%+v", err), test.want) {
				t.Errorf("%+v", err)
			}
		})
	}
	if _, err := app.CheckCards([]string{card(t, "actions: [buy]\n")}, noEnv); err != nil {
		t.Errorf("without a configuration any action may be there: %v", err)
	}
}
