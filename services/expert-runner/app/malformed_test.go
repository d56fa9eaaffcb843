package app_test

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func TestMalformedWorkThatNamesItsRunIsReported(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("echo", false, echo)}})
		bodies := map[string]string{"a": `{"spec":`, "b": `{"job":"other"}`, "c": `{"kind":"split"}`}
		for subjob, body := range bodies {
			m := events.Message{Subject: w.Names.WorkFor("default", "echo", "j1", subjob, 3), Body: []byte(body)}
			musttest.Get(w.Bus.Publish(t.Context(), m, bus.ExpectNone()))(t)
		}
		for subjob := range bodies {
			got := w.Report(work("echo", "j1", subjob, 3))
			if got.Outcome != events.ExecutionError || got.Error == nil || got.Error.Code != events.CodeMalformed || got.Lesson == "" {
				t.Errorf("%s: %+v", subjob, got)
			}
		}
		w.Idle()
	})
}

func TestMalformedWorkThatNamesNoRunIsSetAside(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		start(w, app.Settings{}, app.Deps{Functions: []app.Function{function("echo", false, echo)}})
		m := events.Message{Subject: w.Names.Prefix() + ".work.default.echo.j1", Body: []byte(`{}`)}
		musttest.Get(w.Bus.Publish(t.Context(), m, bus.Expect{}))(t)
		sub := musttest.Get(w.Bus.DeadLetters().Follow(t.Context(), bus.DeadWork))(t)
		defer sub.Stop()
		musttest.Get(sub.Next(t.Context(), 1))(t)
		w.Idle()
		if list, err := w.Bus.DeadLetters().List(t.Context()); err != nil || len(list) != 1 || !strings.Contains(list[0].Reason, "no work subject") {
			t.Errorf("%+v, %v", list, err)
		}
	})
}
