package graph

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// A kind that the contract defines has a case in the fold: without one its events would be ignored, and nothing would say so.
func TestEveryKindHasACaseInTheFold(t *testing.T) {
	for _, d := range events.Definitions() {
		job := musttest.Get(New(events.Event{Seq: 1, Kind: events.KindJobRequested, Job: "j", Data: &events.JobRequested{Request: events.Request{Goal: "g"}, Rules: rules()}}))(t)
		effect := job.Step(events.Event{Seq: 2, Kind: d.Kind, Job: "j", Control: d.Control, Data: d.New()})
		if strings.Contains(effect.Reason, "means nothing to the fold") {
			t.Errorf("%s: %s", d.Kind, effect.Reason)
		}
	}
	job := musttest.Get(New(events.Event{Seq: 1, Kind: events.KindJobRequested, Job: "j", Data: &events.JobRequested{Request: events.Request{Goal: "g"}, Rules: rules()}}))(t)
	if effect := job.Step(events.Event{Seq: 2, Kind: "job.invented", Job: "j"}); effect.Reason != "job.invented means nothing to the fold" {
		t.Errorf("a kind without a case: %+v", effect)
	}
}
