package app

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func asJSON(t *testing.T, v any) string {
	t.Helper()
	return string(musttest.Get(json.MarshalIndent(v, "", " "))(t))
}

func TestAJobGoesRoundTheLoopAndItsSavedStateIsItsFold(t *testing.T) {
	w := newWorkers(t, nil)
	w.schedule(Default(), Deps{})
	w.Submit(events.Request{ID: "one", Goal: "go round", Plan: diamond()})
	end := w.Ended("one")
	if end.Status != events.Finished || string(end.Result) != `"d"` {
		t.Errorf("end: %+v %s", end, end.Result)
	}
	kept := w.saved("one", func(s *graph.State) bool { return s.Status == events.Finished && !s.EndOwed && len(s.Facts) == 0 })
	if diff := cmp.Diff(asJSON(t, w.Folded("one")), asJSON(t, kept)); diff != "" {
		t.Errorf("kept state is not the fold of the log (-fold +kept):\n%s", diff)
	}
	slices.Sort(w.runs)
	if diff := cmp.Diff([]string{"a/1", "b/1", "c/1", "d/1"}, w.runs); diff != "" {
		t.Errorf("runs: %s", diff)
	}
}
