package app

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// keyed is a request with n parallel steps, most of which execute at the same time as those of other jobs.
func keyed(id, session, key string, steps, most int) events.Request {
	var list []events.SubJob
	for i := range steps {
		list = append(list, sub(fmt.Sprintf("s%d", i)))
	}
	return events.Request{ID: id, Goal: "g", Session: session, Plan: plan(list...), Limits: events.Limits{ConcurrencyKey: key, KeyConcurrency: &most}}
}

// sharing is a scene of three jobs with one slot between them.
func sharing() scene {
	return scene{
		name: "key", request: keyed("k1", "", "customer 42", 2, 1), status: events.Finished,
		also: []events.Request{keyed("k2", "", "customer 42", 2, 1), keyed("k3", "", "customer 42", 1, 1)},
		runs: []string{"s0/1", "s0/1", "s0/1", "s1/1", "s1/1"},
		check: func(w *workers) {
			if w.most != 1 {
				w.Errorf("%d runs at once, want 1", w.most)
			}
			w.slotsFree("customer 42")
		},
	}
}

// slotsFree fails when a slot of a key is held or wanted.
func (w *workers) slotsFree(key string) {
	w.Helper()
	if value, _, err := w.Bus.Sessions().GetLeader(w.Context(), bus.SlotKey(key)); !errors.Is(err, bus.ErrNotFound) {
		w.Errorf("record of the key: %s, %v", value, err)
	}
}

func TestRunsOfAKeyAreBoundedOverAllJobsPartitionsAndSchedulers(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		s := Default()
		s.Partitions = 4
		first, second := w.schedule(s, Deps{}), w.schedule(s, Deps{})
		const jobs = 12
		for i := range jobs {
			w.Submit(keyed(fmt.Sprintf("a%d", i), fmt.Sprintf("session%d", i%3), "a", 5, 2))
		}
		for i := range jobs {
			if end := w.Ended(fmt.Sprintf("a%d", i)); end.Status != events.Finished {
				t.Errorf("a%d: %+v", i, end)
			}
		}
		if err := errors.Join(first.Stop(), second.Stop()); err != nil {
			t.Error(err)
		}
		w.stop()
		if len(w.runs) != 5*jobs || w.most > 2 {
			t.Errorf("%d runs, want %d; %d at once, want 2 at most", len(w.runs), 5*jobs, w.most)
		}
		w.slotsFree("a")
	})
}
