package app

import (
	"encoding/json"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestWorkSaysWhetherTheJobWantsItsResultsEvaluatedAndByWhichModelExpertsGo(t *testing.T) {
	told := make(chan string, 10)
	w := newWorkers(t, func(work *events.Work) *events.SubJobReported {
		said, err := json.Marshal(work.Evaluator)
		if err != nil {
			t.Error(err)
		}
		told <- string(work.Kind) + " " + string(said) + " " + work.Model
		return &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`1`)}
	})
	w.schedule(Default(), Deps{})
	for id, asked := range map[string]*bool{"null": nil, "true": new(true), "false": new(false)} {
		body := musttest.JSON(t, events.Request{ID: id, Goal: "g", Plan: plan(sub("a")), Evaluator: asked, Models: map[string]string{"expert": id}})
		if _, fault := w.ask("submit", string(body)); fault != nil {
			t.Fatal(fault)
		}
		if end := w.Ended(id); end.Status != events.Finished {
			t.Errorf("%s: %+v", id, end)
		}
		musttest.Equal(t, "execute "+id+" "+id, <-told)
	}
}
