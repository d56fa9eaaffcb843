package intake

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
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
