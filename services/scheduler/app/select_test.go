package app

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// proves V-T14
func TestJobsAreListedByPersonSessionStateAndPageAlsoByTheNextScheduler(t *testing.T) {
	w := newWorkers(t, func(work *events.Work) *events.SubJobReported {
		if work.SubJob == "hang" {
			return nil
		}
		return &events.SubJobReported{Outcome: events.Success}
	})
	scheduler := w.schedule(Default(), Deps{})
	for _, r := range []events.Request{
		{ID: "one", User: "ann", Session: "s", Plan: plan(sub("a"))},
		{ID: "two", User: "bob", Session: "u", Plan: plan(sub("hang"))},
		{ID: "three", User: "ann", Session: "t", Plan: plan(sub("a"))},
	} {
		r.Goal, r.Labels = "g", map[string]string{"Team": r.ID}
		w.Submit(r)
		w.saved(r.ID, func(k *graph.State) bool {
			return k.Status == events.Finished && !k.EndOwed || r.ID == "two" && k.Status == events.Running
		})
	}
	listed := func(body string) (ids []string) {
		t.Helper()
		answer, fault := w.ask("list", body)
		var list struct {
			Jobs []struct {
				ID string `json:"id"`
			} `json:"jobs"`
		}
		if err := json.Unmarshal([]byte(answer), &list); err != nil || fault != nil {
			t.Fatal(answer, fault, err)
		}
		for _, j := range list.Jobs {
			ids = append(ids, j.ID)
		}
		return ids
	}
	for body, want := range map[string][]string{
		``:                                   {"three", "two", "one"},
		`{"user":"ann","session":"s"}`:       {"one"},
		`{"user":"carl"}`:                    nil,
		`{"session":"s","state":"finished"}`: {"one"},
		`{"offset":1,"limit":1}`:             {"two"},
		`{"find":"ANN t"}`:                   {"three", "one"},
		`{"find":"team=TW"}`:                 {"two"},
		`{"find":"ann bob"}`:                 nil,
		`{"since":"2000-01-01T00:00:00Z"}`:   {"three", "two", "one"},
		`{"since":"9000-01-01T00:00:00Z"}`:   nil,
		`{"user":"ann","offset":1}`:          {"one"},
	} {
		if d := cmp.Diff(want, listed(body)); d != "" {
			t.Errorf("list %s: %s", body, d)
		}
	}
	if err := scheduler.Stop(); err != nil {
		t.Error(err)
	}
	w.schedule(Default(), Deps{})
	if d := cmp.Diff([]string{"three", "one"}, listed(`{"user":"ann"}`)); d != "" {
		t.Errorf("the next scheduler: %s", d)
	}
	if _, fault := w.ask("stop", `{"id":"one"}`); fault == nil || fault.Code != events.CodeConflict {
		t.Errorf("stop of a job that has ended: %v", fault)
	}
	if _, fault := w.ask("stop", `{"id":"nobody"}`); fault == nil || fault.Code != events.CodeNotFound {
		t.Errorf("stop of an unknown job: %v", fault)
	}
	if _, fault := w.ask("stop", `{"id":"two"}`); fault != nil {
		t.Error(fault)
	}
	musttest.Equal(t, []string{"three", "one"}, listed(`{"state":"finished"}`))
}
