package app

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	core "github.com/jobgraph/jobgraph/pkg/recur"
)

// Results stored by a schedule itself, and results that only the job of the run has, are passed on alike.
func TestEachRunIsToldWhatTheOneBeforeItGave(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		large := `"` + strings.Repeat("x", 2*schedule.MaxResult) + `"`
		outputs := []string{`"small"`, large, `"last"`}
		var told []string
		w := newWorkers(t, nil)
		w.script = func(work *events.Work) *events.SubJobReported {
			w.mu.Lock()
			defer w.mu.Unlock()
			told = append(told, string(work.Inputs[schedule.PreviousInput]))
			return &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(outputs[len(told)-1])}
		}
		w.schedule(Default(), Deps{})
		w.must("create", repeating(schedule.Spec{When: minutes(2), MaxRuns: 3, Previous: true}))
		s := w.quiet(func(s *schedule.State) bool { return s.Status == schedule.Done })
		w.mu.Lock()
		defer w.mu.Unlock()
		if diff := cmp.Diff([]string{"FINISHED", "FINISHED", "FINISHED"}, statuses(&s)); diff != "" || told[0] != "null" {
			t.Fatalf("runs (-want +got):\n%s\ntold %v", diff, told)
		}
		for i := range 2 {
			var given core.Given
			musttest.Decode(t, []byte(told[i+1]), &given)
			want := core.Given{JobID: s.Recent[i].JobID, Due: s.Recent[i].Due, Ended: s.Recent[i].Ended, Result: json.RawMessage(outputs[i])}
			if diff := cmp.Diff(want, given); diff != "" {
				t.Errorf("run %d (-want +told):\n%s", i+2, diff)
			}
		}
	})
}
