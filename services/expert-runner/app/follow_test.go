package app_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// announced are the descriptions of the cards in the catalogue, by id.
func (w *world) announced() map[string]string {
	w.t.Helper()
	entries, err := w.bus.Experts().List(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	cards := map[string]string{}
	for _, e := range entries {
		var card events.Card
		if err := json.Unmarshal(e.Value, &card); err != nil {
			w.t.Fatal(err)
		}
		cards[card.ID] = card.Description
	}
	return cards
}

// becomes waits for the catalogue to be so.
func (w *world) becomes(want map[string]string) {
	w.t.Helper()
	late := time.Now().Add(5 * time.Second) // Before a card could have vanished by itself.
	w.until("the catalogue has changed", func() bool { return cmp.Equal(want, w.announced()) || time.Now().After(late) })
	if diff := cmp.Diff(want, w.announced()); diff != "" {
		w.t.Fatal(diff)
	}
}

// person is a card of kind human.
func person(name, description string) string {
	return "---\nname: " + name + "\nkind: human\ndescription: " + description + "\n---\nPlease.\n"
}

// proves C-weakness-issue-32
func TestCardsComeChangeAndGoWithTheirFiles(t *testing.T) {
	virtual(t, func(w *world) {
		t := w.t
		dir := folder(t, map[string]string{"a.md": person("a", "one"), "b.md": person("b", "one")})
		s := app.Default()
		s.Experts = []string{dir}
		r := w.start(s, app.Deps{Functions: []app.Function{function("echo", false, echo)}})
		w.becomes(map[string]string{"a": "one", "b": "one", "echo": ""})

		place(t, filepath.Join(dir, "a.md"), person("a", "two"))
		place(t, filepath.Join(dir, "b.md"), "---\nname: c\nkind: human\ndescription: three\npool: apart\n---\n")
		w.becomes(map[string]string{"a": "two", "c": "three", "echo": ""})

		// Work of the pool that has come with the file is taken, that of the expert who is gone stays.
		parked, waiting := work("c", "j1", "s", 1), work("b", "j2", "s", 1)
		body, err := json.Marshal(parked)
		if err != nil {
			t.Fatal(err)
		}
		w.publish(w.names.WorkFor("apart", "c", "j1", "s", 1), body)
		w.issue("b", waiting)
		w.state(waiting, true)
		w.until("the person is asked", func() bool { return len(w.facts("j1", events.KindInputRequested)) == 1 })
		w.pass(time.Minute)
		if facts, err := w.bus.Streams().Info(t.Context(), w.names.Work); err != nil || facts.Messages != 1 {
			t.Errorf("%d messages of work are left, want that of the expert who is gone: %v", facts.Messages, err)
		}
		if got := sum(t.(*testing.T), r.process.Metrics.Gatherer(), "jobgraph_runner_catalog_reloads_total"); got < 1 {
			t.Errorf("%v changes counted", got)
		}

		place(t, filepath.Join(dir, "b.md"), person("b", "four"))
		w.until("the person is asked", func() bool { return len(w.facts("j2", events.KindInputRequested)) == 1 })
	})
}

func TestAFaultyFileChangesNothingAndSaysSo(t *testing.T) {
	virtual(t, func(w *world) {
		t := w.t
		dir := folder(t, map[string]string{"a.md": person("a", "one"), "b.md": person("b", "one")})
		s := app.Default()
		s.Experts = []string{dir}
		r := w.start(s, app.Deps{})
		place(t, filepath.Join(dir, "a.md"), person("a", "two"))
		place(t, filepath.Join(dir, "b.md"), "---\nname: b\nkind: hunam\n---\n")
		w.until("the fault is noted", func() bool { return len(r.process.Health.Notes()) == 1 })
		if note := r.process.Health.Notes()[0].Reason; !strings.Contains(note, "b.md:3:7: kind: unknown kind \"hunam\" (did you mean human?)") {
			t.Errorf("the note is %q", note)
		}
		if reasons := r.process.Health.Reasons(t.Context()); len(reasons) != 0 {
			t.Errorf("the runner is not ready: %v", reasons)
		}
		w.pass(time.Minute)
		if diff := cmp.Diff(map[string]string{"a": "one", "b": "one"}, w.announced()); diff != "" {
			t.Error(diff)
		}
		if got := sum(t.(*testing.T), r.process.Metrics.Gatherer(), "jobgraph_runner_catalog_reloads_total"); got != 1 {
			t.Errorf("the fault was counted %v times", got)
		}
		place(t, filepath.Join(dir, "b.md"), person("b", "three"))
		w.becomes(map[string]string{"a": "two", "b": "three"})
		if notes := r.process.Health.Notes(); len(notes) != 0 {
			t.Errorf("notes %v", notes)
		}
	})
}

func TestWorkInHandKeepsTheExpertThatItBeganWith(t *testing.T) {
	virtual(t, func(w *world) {
		t := w.t.(*testing.T)
		dir := folder(t, map[string]string{"jobgraph.yaml": `version: 1
models: {default: {model: m, base_url: "http://model.invalid/v1"}}
experts:
  - {name: Agent, kind: llm, prompt: First orders., tools: [write_file]}
`})
		asked, go_ := make(chan string, 8), make(chan struct{})
		model := llmtest.New(llmtest.Func(func(q llmtest.Question) (llmtest.Answer, error) {
			asked <- q.All()
			<-go_
			if len(q.Turns) == 2 {
				return llmtest.Answer{Calls: []llmtest.Call{{Name: "write_file", Args: `{"path":"a","content":"b"}`}}}, nil
			}
			return llmtest.Answer{Text: "done"}, nil
		}))
		s := app.Default()
		s.WorkDir = t.TempDir()
		w.startWith(filepath.Join(dir, "jobgraph.yaml"), s, app.Deps{Doer: model})
		w.issue("agent", work("agent", "j1", "a", 1))
		first := <-asked
		place(t, filepath.Join(dir, "jobgraph.yaml"), `version: 1
models: {default: {model: m, base_url: "http://model.invalid/v1"}}
experts:
  - {name: Agent, kind: llm, description: new, prompt: Second orders., tools: [write_file]}
`)
		w.becomes(map[string]string{"agent": "new"})
		close(go_)
		w.report(work("agent", "j1", "a", 1))
		w.issue("agent", work("agent", "j2", "a", 1))
		w.report(work("agent", "j2", "a", 1))
		second := <-asked
		third := <-asked
		for i, seen := range []string{first, second, third} {
			want := "First orders."
			if i == 2 {
				want = "Second orders."
			}
			if !strings.Contains(seen, want) {
				t.Errorf("question %d has not %q:\n%s", i+1, want, seen)
			}
		}
	})
}
