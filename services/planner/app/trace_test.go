package app

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/loop"
)

func TestTheSpanOfARunThatAnotherPlannerTookEnds(t *testing.T) {
	var ended []string
	start := func(string, string, ...string) (string, func(string, ...string)) {
		return "00-span", func(failure string, _ ...string) { ended = append(ended, failure) }
	}
	tr := &tracer{start: start, names: events.NewNames(""), open: map[string]*told{}}
	var d loop.Delivery
	tr.begin(&d)
	if d.Lost == nil {
		t.Fatal("the loss of the run is not reported")
	}
	d.Lost("the run is not held any more")
	if len(tr.open) != 0 || len(ended) != 1 || ended[0] != "the run is not held any more" {
		t.Errorf("%d spans are open, ended %q", len(tr.open), ended)
	}
}
