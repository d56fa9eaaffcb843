package watch

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// A SubJob that runs again says why: its result could not be used, someone asked for it, or its text was changed.
// proves C22
func TestARunThatIsRepeatedSaysWhy(t *testing.T) {
	again := &events.Transition{SubJob: "a", Transition: requeued}
	for want, data := range map[string]any{
		"b could not use its result: give the unit": &events.SubJobReported{Outcome: events.InputDataError, Lesson: "give the unit"},
		"b could not use its result: no table":      &events.SubJobReported{Outcome: events.InputDataError, Error: &events.Fault{Message: "no table"}},
		"":                                          &events.SubJobReported{Outcome: events.ExecutionError, Lesson: "its own error says it"},
		"a rerun was asked for by ann":              &events.RerunRequested{SubJob: "a", By: "ann"},
		"c is run again":                            &events.RerunRequested{SubJob: "c"},
		"a retry was asked for by ann":              &events.RetryRequested{SubJob: "a", By: "ann"},
		"the job was recovered":                     &events.RecoverRequested{},
		"the plan was edited by plan":               &events.PlanEdited{By: "plan"},
		"the rest of the job was planned again":     &events.GraphCreated{},
	} {
		if got := reason(&events.Event{SubJob: "b", Data: data}, again); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	own := reason(&events.Event{SubJob: "a", Data: &events.SubJobReported{Outcome: events.InputDataError, Lesson: "give the unit"}}, again)
	if own != "it could not use its inputs: give the unit" {
		t.Error(own)
	}
	if other := reason(&events.Event{SubJob: "b", Data: &events.RerunRequested{}}, &events.Transition{Transition: "ready"}); other != "" {
		t.Error(other)
	}
}
