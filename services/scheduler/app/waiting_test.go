package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestARequestThatWaitsForItsAdmissionCanBeFoundAndStopped(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		w.stop()      // No planner runs.
		for range 3 { // More than the limit allows: nothing is admitted.
			w.Publish(w.Names.Prefix()+".event.none", []byte(strings.Repeat("x", 400<<10)))
		}
		settings := Default()
		settings.IntakeHighWater = 1
		w.schedule(settings, Deps{})
		for _, id := range []string{"first", "second"} {
			w.Submit(events.Request{ID: id, Goal: "g"})
		}
		c := client.New(w.Bus)
		if ahead, waits, err := c.Waiting(t.Context(), "second"); ahead != 1 || !waits || err != nil {
			t.Errorf("behind %d: %t, %v", ahead, waits, err)
		}
		if _, err := c.Get(t.Context(), "second"); !errors.Is(err, client.ErrNotAdmitted) || !errors.Is(err, client.ErrNotFound) {
			t.Errorf("get: %v", err)
		}
		if _, err := c.Get(t.Context(), "third"); errors.Is(err, client.ErrNotAdmitted) || !errors.Is(err, client.ErrNotFound) {
			t.Errorf("get a job that nobody has asked for: %v", err)
		}
		w.ask("get", `{"id":"third"}`) // The scheduler answers.
		if err := c.Stop(t.Context(), "second", events.StopRequested{Reason: "not needed"}); err != nil {
			t.Fatal(err)
		}
		if end := w.Ended("second"); end.Status != events.Stopped {
			t.Errorf("the job is %s", end.Status)
		}
		if _, waits, err := c.Waiting(t.Context(), "first"); !waits || err != nil {
			t.Errorf("the other request waits: %t, %v", waits, err)
		}
	})
}
