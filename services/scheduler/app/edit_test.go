package app

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestAStepThatRecursIsAScheduleAlsoWhenItComesWithAnEdit(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, func(work *events.Work) *events.SubJobReported {
			if work.SubJob == "a" {
				return nil // The run hangs.
			}
			return &events.SubJobReported{Outcome: events.Success}
		})
		w.schedule(Default(), Deps{})
		w.Submit(events.Request{ID: "j", Goal: "g", Plan: plan(sub("a"))})
		w.Await(w.Names.JobEvents("j"), func(e events.Event) bool { return e.Kind == events.KindGraphCreated })
		step := sub("watch")
		step.Schedule = &events.Schedule{Cron: "@daily"}
		edit := musttest.JSON(t, map[string]any{"id": "j", "plan_version": 1, "plan": plan(sub("a"), step)})
		if _, fault := w.ask("edit", string(edit)); fault != nil {
			t.Fatal(fault)
		}
		w.Await(w.Names.JobEvents("j"), func(e events.Event) bool { return e.Kind == events.KindSubJobReported && e.SubJob == "watch" })
		if s := w.must("get", id("j-watch")); s.By != "j/watch" {
			t.Errorf("%+v", s)
		}
	})
}
