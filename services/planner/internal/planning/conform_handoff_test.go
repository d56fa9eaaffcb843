package planning_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// proves V16
// proves V-T7
func TestWhatThePlannerDelegatesIsHandedOffAndWhatThePersonChoseIsNot(t *testing.T) {
	s := open(t, "assistant", "the price of gold").fails(planning.ClassUnavailable).owes(planning.Call, planning.StageDraft)
	for _, step := range s.says(delegated).ends(events.KindGraphCreated).Plan.SubJobs {
		if !step.Handoff {
			t.Errorf("%s is not handed off", step.ID)
		}
	}
	chosen := open(t, "assistant", "all of it", func(s *planning.Start) { s.Request.Expert = "Pass" }).ends(events.KindGraphCreated).Plan
	if chosen.SubJobs[0].Handoff {
		t.Error("the expert that was named got a session of its own")
	}
}
