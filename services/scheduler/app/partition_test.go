package app

import (
	"errors"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// With another number of partitions, one scheduler after the other: an old consumer stays as long as a scheduler uses it, and is
// removed then.
func TestPartitionsOfAnotherNumberGoWithTheirLastScheduler(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		old := func() error {
			_, err := w.Bus.Queues().Info(t.Context(), w.Names.Log, w.Bus.Queues().SchedulerConsumer(0, 1).Durable)
			return err
		}
		first := w.schedule(Default(), Deps{})
		run := func(id string) {
			w.Submit(events.Request{ID: id, Goal: "g", Plan: diamond()})
			if end := w.Ended(id); end.Status != events.Finished {
				t.Errorf("%s: %+v", id, end)
			}
		}
		run("before")
		s := Default()
		s.Partitions = 2
		w.schedule(s, Deps{})
		run("between")
		<-time.After(5 * retireEvery)
		if err := old(); err != nil {
			t.Errorf("a partition in use: %v", err)
		}
		if err := first.Stop(); err != nil {
			t.Error(err)
		}
		<-time.After(5 * retireEvery)
		if err := old(); !errors.Is(err, bus.ErrNotFound) {
			t.Errorf("an unused partition: %v", err)
		}
		run("after")
	})
}
