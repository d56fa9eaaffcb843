package schedule_test

import (
	"encoding/json"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

func TestOnlyStepsThatRecurAndHaveNoResultGoToTheMakerOfSchedules(t *testing.T) {
	every := &events.Schedule{IntervalMinutes: 5}
	given := &events.Plan{SubJobs: []events.SubJob{
		{ID: "once", Expert: "e", Pool: "default", Pure: true},
		{ID: "often", Expert: "e", Pool: "default", Pure: true, Schedule: every},
		{ID: "known", Expert: "e", Pool: "default", Schedule: every, ExecutionRes: json.RawMessage(`1`)},
	}}
	before, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	made := schedule.Routed(given)
	for i, want := range []string{"default", schedule.Pool, "default"} {
		if got := made.SubJobs[i].Pool; got != want {
			t.Errorf("step %s goes to %s, want %s", made.SubJobs[i].ID, got, want)
		}
	}
	if made.SubJobs[1].Pure || !made.SubJobs[0].Pure {
		t.Error("making a schedule is an effect")
	}
	if behind, err := json.Marshal(given); err != nil || string(behind) != string(before) {
		t.Errorf("the plan that was given was changed: %s, %v", behind, err)
	}
}
