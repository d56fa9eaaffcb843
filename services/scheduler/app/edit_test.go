package app

import (
	"encoding/json"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestAStepThatRecursIsAScheduleAlsoWhenItComesWithAnEdit(t *testing.T) {
	bustest.Outside(t)
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(work *events.Work) *events.SubJobReported {
			if work.SubJob == "a" {
				return nil // It hangs.
			}
			return &events.SubJobReported{Outcome: events.Success}
		})
		stop := w.schedule(Default(), Deps{})
		w.submit(events.Request{ID: "j", Goal: "g", Plan: plan(sub("a"))})
		w.await(t.Context(), w.bus.Names().JobEvents("j"), func(e events.Event) bool { return e.Kind == events.KindGraphCreated })
		step := sub("watch")
		step.Schedule = &events.Schedule{Cron: "@daily"}
		edit, err := json.Marshal(map[string]any{"id": "j", "plan_version": 1, "plan": plan(sub("a"), step)})
		if err != nil {
			t.Fatal(err)
		}
		if _, fault := w.ask("edit", string(edit)); fault != nil {
			t.Fatal(fault)
		}
		w.await(t.Context(), w.bus.Names().JobEvents("j"), func(e events.Event) bool { return e.Kind == events.KindSubJobReported && e.SubJob == "watch" })
		if s := w.must("get", id("j-watch")); s.By != "j/watch" {
			t.Errorf("%+v", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		w.stop()
	})
}
