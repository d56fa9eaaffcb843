package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
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
		scheduler := w.schedule(settings, Deps{})
		for _, id := range []string{"first", "second"} {
			w.Submit(events.Request{ID: id, Goal: "g"})
		}
		w.ask("get", `{"id":"third"}`) // The scheduler answers.
		c := client.New(w.Bus)
		if ahead, waits, err := c.Waiting(t.Context(), "second"); ahead != 1 || !waits || err != nil {
			t.Errorf("behind %d: %t, %v", ahead, waits, err)
		}
		if _, err := c.Get(t.Context(), "second"); !errors.Is(err, client.ErrNotAdmitted) || !errors.Is(err, client.ErrNotFound) {
			t.Errorf("get: %v", err)
		}
		log := musttest.Get(w.Bus.Streams().Info(t.Context(), w.Names.Log))(t)
		closed := fmt.Sprintf("no job is admitted now: the log holds %d bytes, the high-water mark is 1048576", log.Bytes)
		if _, err := c.Get(t.Context(), "second"); err == nil || !strings.Contains(err.Error(), closed) {
			t.Errorf("it does not say why: %v", err)
		}
		if notes := scheduler.Health.Notes(); !slices.ContainsFunc(notes, func(r host.Reason) bool { return r.Name == "admission" && r.Reason == closed }) {
			t.Errorf("notes: %v", notes)
		}
		if f, err := client.SupplyOf(c).Admission(t.Context()); err != nil || f == nil || f.Message+": "+f.Cause != closed || !strings.Contains(f.Hint, "--intake-high-water") {
			t.Errorf("admission: %v, %v", f, err)
		}
		if _, err := c.Get(t.Context(), "third"); errors.Is(err, client.ErrNotAdmitted) || !errors.Is(err, client.ErrNotFound) {
			t.Errorf("get a job that nobody has asked for: %v", err)
		}
		musttest.Do(t, c.Stop(t.Context(), "second", events.StopRequested{Reason: "not needed"}))
		if end := w.Ended("second"); end.Status != events.Stopped {
			t.Errorf("the job is %s", end.Status)
		}
		if _, waits, err := c.Waiting(t.Context(), "first"); !waits || err != nil {
			t.Errorf("the other request waits: %t, %v", waits, err)
		}
	})
}
