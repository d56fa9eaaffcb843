package app

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

func TestWorkBehindAShortQueueAllRuns(t *testing.T) {
	w := newWorkers(t, nil)
	s := Default()
	s.WorkWindow = 3
	w.schedule(s, Deps{})
	for i, session := range []string{"a", "a", "b", ""} {
		w.Submit(events.Request{ID: fmt.Sprintf("j%d", i), Goal: "g", Session: session, Priority: i % 2, Plan: fan(60)})
	}
	for i := range 4 {
		job := fmt.Sprintf("j%d", i)
		if end := w.Ended(job); end.Status != events.Finished {
			t.Errorf("%s: %+v", job, end)
		}
		kept := w.saved(job, func(s *graph.State) bool { return s.Status == events.Finished && !s.EndOwed && len(s.Facts) == 0 })
		if diff := cmp.Diff(asJSON(t, w.Folded(job)), asJSON(t, kept)); diff != "" {
			t.Errorf("kept state is not the fold of the log (-fold +kept):\n%s", diff)
		}
	}
	if n := len(w.runs); n != 4*62 {
		t.Errorf("%d runs, want %d", n, 4*62)
	}
}
