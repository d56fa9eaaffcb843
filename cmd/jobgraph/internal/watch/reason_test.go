package watch

import (
	"testing"
	"time"

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

// A run that is put off, as planning is while its model is rate limited, says until when and why; other milestones are not shown.
func TestARunThatIsPutOffSaysUntilWhenAndWhy(t *testing.T) {
	until := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	e := events.Event{SubJob: "~plan", Run: 2, Data: &events.SubJobProgressed{Message: "rate limited", Until: until}}
	shown := putOff(&e)
	if shown == nil || shown.SubJob != "~plan" || shown.Run != 2 {
		t.Fatal(shown)
	}
	if got := reason(&e, shown); got != "until 03:04:05: rate limited" {
		t.Error(got)
	}
	for _, other := range []any{&events.SubJobProgressed{Message: "draft"}, &events.SubJobReported{}} {
		if shown := putOff(&events.Event{Data: other}); shown != nil {
			t.Error(shown)
		}
	}
}
