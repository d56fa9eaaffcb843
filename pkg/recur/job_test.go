package recur

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/moment/momenttest"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// told returns what the next run learns about the previous one, with the result of that run if the schedule has not stored it.
func (s *tape) told(elsewhere string) string {
	s.t.Helper()
	starts := s.owes(Start)
	if len(starts) != 1 {
		s.t.Fatalf("%d runs are to begin", len(starts))
	}
	r := musttest.Get(s.plan.Job(starts[0].Key, json.RawMessage(elsewhere)))(s.t)
	if want := map[string]string{"team": "ops", Label: "s"}; r.ID != schedule.JobID("s", starts[0].Key) || !cmp.Equal(want, r.Labels) {
		s.t.Errorf("job %s with labels %v", r.ID, r.Labels)
	}
	return string(r.Inputs[schedule.PreviousInput])
}

// end begins the run that is to begin, and ends it.
func (s *tape) end(status events.Status, result string) {
	s.t.Helper()
	c := s.owes(Start)[0]
	s.say(c.At, schedule.Started, c.Key, &schedule.Moved{Due: c.At})
	s.say(c.At.Add(time.Second), schedule.Ended, c.Key, &schedule.End{Status: status, Result: json.RawMessage(result)})
}

func hourly(previous bool) schedule.Spec {
	return schedule.Spec{When: events.Schedule{IntervalMinutes: 60}, Previous: previous, Request: events.Request{
		Goal: "g", Labels: map[string]string{"team": "ops"}, Inputs: map[string]json.RawMessage{"n": json.RawMessage("1")},
	}}
}

func TestARunIsToldOfTheLatestBeforeItThatHasFinished(t *testing.T) {
	s := begin(t, hourly(true), momenttest.Moment(t, "2026-01-01T00:00:00Z"))
	step := func(want, elsewhere string, status events.Status, result string) {
		t.Helper()
		s.fire(0)
		musttest.Equal(t, want, s.told(elsewhere))
		s.end(status, result)
	}
	step("null", `"x"`, events.Finished, `{"n":1}`)
	first := `{"job_id":"s-20260101T010000Z","due":"2026-01-01T01:00:00Z","ended":"2026-01-01T01:00:01Z","result":{"n":1}}`
	step(first, `"x"`, events.Failed, "")
	step(first, "", events.Finished, "")
	step(`{"job_id":"s-20260101T030000Z","due":"2026-01-01T03:00:00Z","ended":"2026-01-01T03:00:01Z","result":"large"}`, `"large"`, events.Finished, "")
	step(`{"job_id":"s-20260101T040000Z","due":"2026-01-01T04:00:00Z","ended":"2026-01-01T04:00:01Z"}`, "", events.Finished, "null")
	s.fire(0)
	if _, err := s.plan.Job(s.owes(Start)[0].Key, json.RawMessage("{")); err != nil {
		t.Errorf("a result that is not needed: %v", err)
	}
	if got := s.plan.Request.Inputs; len(got) != 1 || len(s.plan.Request.Labels) != 1 {
		t.Errorf("the schedule itself has changed: %v", got)
	}
}

func TestARunIsToldNothingUnlessItsScheduleSaysSo(t *testing.T) {
	s := begin(t, hourly(false), momenttest.Moment(t, "2026-01-01T00:00:00Z"))
	s.fire(0)
	s.end(events.Finished, "1")
	s.fire(0)
	if got := s.told(`"x"`); got != "" || s.plan.Before(s.owes(Start)[0].Key) != nil {
		t.Errorf("told %s", got)
	}
}

// However many due times were skipped since, the result for the next run is kept.
func TestTheRunThatTheNextIsToldOfIsNotDropped(t *testing.T) {
	s := begin(t, hourly(true), momenttest.Moment(t, "2026-01-01T00:00:00Z"))
	s.fire(0)
	s.end(events.Finished, `"kept"`)
	first := s.plan.Recent[0].Key
	for i := range 3 * schedule.MaxRecent {
		s.fire(0)
		s.end(events.Failed, "")
		if s.plan.find(first) == nil {
			t.Fatalf("dropped after %d runs", i+1)
		}
	}
	s.fire(0)
	if got := s.told(""); len(s.plan.Recent) > schedule.MaxRecent+2 || got == "null" {
		t.Errorf("%d runs are kept, told %s", len(s.plan.Recent), got)
	}
}

func TestAnInputThatTheScheduleTellsIsNotGivenByTheRequest(t *testing.T) {
	spec := hourly(true)
	spec.Request.Inputs[schedule.PreviousInput] = json.RawMessage("1")
	faults := spec.Validate()
	if len(faults) != 1 || faults[0].Field != "request.inputs.previous" {
		t.Errorf("%v", faults)
	}
	spec.Previous = false
	if faults := spec.Validate(); len(faults) > 0 {
		t.Errorf("%v", faults)
	}
}

func TestRunsAreUnattendedUnlessTheRequestSaysThatAPersonCanAnswer(t *testing.T) {
	forever := events.Duration(0)
	for name, c := range map[string]struct {
		request events.Request
		want    *bool
	}{
		"nothing said":     {events.Request{}, new(true)},
		"every plan runs":  {events.Request{AutoAccept: new(true)}, new(true)},
		"attended":         {events.Request{Unattended: new(false)}, new(false)},
		"a review":         {events.Request{AutoAccept: new(false)}, nil},
		"time for answers": {events.Request{Limits: events.Limits{Answer: &forever}}, nil},
	} {
		Unattend(&c.request)
		if diff := cmp.Diff(c.want, c.request.Unattended); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
