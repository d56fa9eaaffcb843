package intake

import (
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

func TestOneJobAloneRunsNoMoreThanItsKeyAllows(t *testing.T) {
	for _, c := range []struct{ own, key, want int }{{0, 3, 3}, {2, 3, 2}, {5, 3, 3}} {
		r := &events.Request{Limits: events.Limits{ConcurrencyKey: "k", KeyConcurrency: &c.key, Concurrency: &c.own}}
		rules := Resolve(DefaultRules(), r)
		if rules.Concurrency != c.want || rules.ConcurrencyKey != "k" || rules.KeyConcurrency != c.key {
			t.Errorf("%d of its own, %d of the key: %+v", c.own, c.key, rules)
		}
	}
}

// The number of steps bounds a plan that the request brings. To a planner it is advice, so the job's own limit stays.
//
// proves D16
func TestTheNumberOfStepsBoundsOnlyAPlanThatTheRequestBrings(t *testing.T) {
	three, many := 3, 30_000
	for _, c := range []struct {
		r    events.Request
		want int
	}{
		{events.Request{Limits: events.Limits{MaxSteps: &three}}, 20_000},
		{events.Request{Limits: events.Limits{MaxSteps: &many}}, 30_000},
		{events.Request{Plan: []byte(`null`), Limits: events.Limits{MaxSteps: &three}}, 20_000},
		{events.Request{Plan: []byte(`{"steps":["a"]}`), Limits: events.Limits{MaxSteps: &three}}, 3},
		{events.Request{PlanRef: &events.Ref{}, Limits: events.Limits{MaxSteps: &three}}, 3},
		{events.Request{}, 20_000},
	} {
		if got := Resolve(DefaultRules(), &c.r).MaxSteps; got != c.want {
			t.Errorf("%+v: %d, want %d", c.r, got, c.want)
		}
	}
}

// A run of a schedule must not wait for a person for ever: its schedule would skip all further runs.
func TestHowLongAQuestionOfAnExpertStaysOpen(t *testing.T) {
	hour, forever := events.Duration(time.Hour), events.Duration(0)
	run := map[string]string{schedule.Label: "nightly"}
	for name, c := range map[string]struct {
		r    events.Request
		want events.Duration
	}{
		"a job like any other":           {events.Request{}, 0},
		"nobody is there":                {events.Request{Unattended: new(true)}, events.UnattendedAnswer},
		"a run that may ask":             {events.Request{Unattended: new(false), Labels: run}, events.UnattendedAnswer},
		"the request says":               {events.Request{Limits: events.Limits{Answer: &hour}, Labels: run}, hour},
		"the request says so of any job": {events.Request{Limits: events.Limits{Answer: &hour}}, hour},
		"the request wants to wait":      {events.Request{Limits: events.Limits{Answer: &forever}, Labels: run}, 0},
	} {
		if got := Resolve(DefaultRules(), &c.r).Answer; got != c.want {
			t.Errorf("%s: %s, want %s", name, got.Std(), c.want.Std())
		}
		older := DefaultRules()
		older.Version = answersSince - 1
		if got := Resolve(older, &c.r).Answer; got != 0 {
			t.Errorf("%s: %s by rules that do not know it", name, got.Std())
		}
	}
}
