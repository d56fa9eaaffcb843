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
