package app_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm/llmtest"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// proves V4
func TestModelsChangeWithTheFileAndAFaultyFileChangesNothing(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		w.Announce(three()...)
		server := llmtest.New(llmtest.Planner{})
		w.Config = filepath.Join(t.TempDir(), "jobgraph.yaml")
		key := filepath.Join(filepath.Dir(w.Config), "key.txt")
		asked := func(job, text string) (model, bearer string) {
			t.Helper()
			musttest.Write(t, w.Config, text)
			<-time.After(5 * time.Second)
			issue(w, job, events.Request{Goal: "g", Profile: "graph"})
			created(w)
			list := server.Asked()
			last := list[len(list)-1]
			return last.Model, last.Header.Get("Authorization")
		}
		write := func(path, text string) {
			t.Helper()
			musttest.Write(t, path, text)
		}
		first := "version: 1\nmodels: {default: {model: first, base_url: 'http://fake.invalid/v1', key: '${file:key.txt}'}}\n"
		write(key, "one")
		write(w.Config, first)
		start(w, app.Deps{Doer: server})
		for i, c := range []struct{ text, key, model, bearer string }{
			{first, "one", "first", "Bearer one"},
			{"version: 1\nmodels: {default: {model: second, base_url: 'http://fake.invalid/v1'}}\n", "one", "second", ""},
			{"version: 1\nmodels: {default: {modell: third}}\n", "one", "second", ""},
			{first, "two", "first", "Bearer two"},
		} {
			write(key, c.key)
			if model, bearer := asked("j"+string(rune('a'+i)), c.text); model != c.model || bearer != c.bearer {
				t.Errorf("%s: asked %s with %q, want %s with %q", c.text, model, bearer, c.model, c.bearer)
			}
		}
	})
}
