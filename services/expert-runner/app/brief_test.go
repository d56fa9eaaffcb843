package app_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a/a2atest"
)

// told returns what a remote agent receives with work that has a brief.
func told(t *testing.T, settings a2atest.Settings, more string) string {
	t.Helper()
	agent := a2atest.Start(t, settings, func(s *a2atest.Stage) { s.Answer("done") })
	servicetest.Virtual(t, func(_ *testing.T, w *servicetest.Env) {
		start(w, remote(t, agent, more), app.Deps{})
		o := work("desk", "j1", "a", 1)
		o.Brief = json.RawMessage(`{"v":1,"job":"j1","request":{"goal":"Write about boats","context":"short…"},"place":{"id":"a","title":"Sail","n":2,"of":3},"session":"harbour","thread":"pier","user":"ann"}`)
		ref := musttest.Get(w.Bus.Blobs().Put(w.Context(), "j1", []byte(`{"request":{"goal":"Write about boats","context":"short and the rest"}}`)))(w)
		o.BriefRef = &ref
		w.Issue(o)
		if got := w.Report(o); got.Outcome != events.Success {
			w.Errorf("%+v", got)
		}
	})
	return string(musttest.JSON(t, agent.Heard()[0].Message))
}

func TestARemoteAgentIsToldOfTheJobAndForWhomOnlyIfTheCardSharesIt(t *testing.T) {
	for name, settings := range peers() {
		got := told(t, settings, "")
		for _, want := range []string{"Write about boats", "short and the rest", `"of":3`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is not told %q: %s", name, want, got)
			}
		}
		if strings.Contains(got, "harbour") || strings.Contains(got, "ann") || strings.Contains(got, "pier") {
			t.Errorf("%s is told for whom: %s", name, got)
		}
	}
	if got := told(t, a2atest.Settings{}, "share: [thread, user]\n"); !strings.Contains(got, `"ann"`) || !strings.Contains(got, `"pier"`) || strings.Contains(got, "harbour") {
		t.Errorf("shared: %s", got)
	}
}

// If a blob is gone, the run lacks what was left out of its brief, and nothing else.
func TestABriefWhoseBlobIsGoneStaysShort(t *testing.T) {
	var short string
	servicetest.Virtual(t, func(_ *testing.T, w *servicetest.Env) {
		f := function("worker", false, func(_ context.Context, task *app.Task) (events.SubJobReported, error) {
			short = task.Brief().Request.Context
			return events.SubJobReported{}, nil
		})
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{f}})
		o := work("worker", "j1", "a", 1)
		o.Brief, o.BriefRef = json.RawMessage(`{"v":1,"job":"j1","request":{"goal":"g","context":"short…"}}`), &events.Ref{Digest: strings.Repeat("0", 64), Size: 5}
		w.Issue(o)
		if got := w.Report(o); got.Outcome != events.Success || short != "short…" {
			w.Errorf("%+v, %q", got, short)
		}
	})
}

func TestShareIsForExpertsThatOthersServe(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.md": "---\nname: a\nkind: http\nurl: http://example.com/\nshare: [user, password]\n---\n",
		"b.md": "---\nname: b\nkind: llm\nshare: [user]\n---\n",
		"c.md": "---\nname: c\nkind: http\nurl: http://example.com/\nshare: [user, session, thread]\n---\n",
	})
	for file, want := range map[string][]string{
		"a.md": {`a.md:5:8: share: "password" cannot be shared (share: [session, thread, user])`},
		"b.md": {`b.md:4:8: share: is for experts that others serve: kinds http and a2a (leave it out: an expert of kind llm gets session, thread and user anyway)`},
		"c.md": {},
	} {
		if diff := cmp.Diff(want, faultsIn(t, dir, file)); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}
