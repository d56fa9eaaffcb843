package app

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// submitted asks for a job and returns why it is refused; nil if it is not.
func (w *workers) submitted(r events.Request) *events.Fault {
	w.Helper()
	var fault *events.Fault
	err := bus.Await(w.Context(), func() (err error) { // The scheduler may be about to start.
		_, fault, err = w.Bus.Services().Request(w.Context(), w.Names.API("submit"), w.JSON(r))
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return fault
}

// due returns the jobs of the next n runs of a schedule "s" that fires at every even minute.
func due(n int) (ids []string) {
	const every = 2 * time.Minute
	next := time.Now().Truncate(every).Add(every)
	if time.Until(next) < every/2 { // It may pass before the schedule is there.
		next = next.Add(every)
	}
	for i := range n {
		ids = append(ids, schedule.JobID("s", schedule.Key(next.Add(time.Duration(i)*every))))
	}
	return ids
}

// Otherwise a user with the right to submit could block the runs of a schedule, or give one a result, with a job under its id.
func TestTheIdOfARunIsForItsScheduleAlone(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		w.schedule(Default(), Deps{})
		early := schedule.JobID("s", "t1")
		if fault := w.submitted(events.Request{ID: early, Goal: "g", Plan: plan(sub("a"))}); fault != nil {
			t.Fatalf("before there is the schedule: %v", fault)
		}
		w.must("create", repeating(schedule.Spec{When: events.Schedule{Cron: "*/2 * * * *"}, MaxRuns: 2}))
		runs := due(2)
		for _, id := range append(slices.Clone(runs), schedule.JobID("s", "t77")) {
			fault := w.submitted(events.Request{ID: id, Goal: "g", Plan: plan(sub("a")), Labels: map[string]string{schedule.Label: "s"}})
			if fault == nil || fault.Code != events.CodeConflict || !strings.Contains(fault.Error(), "a run of schedule s") {
				t.Errorf("%s: %+v", id, fault)
			}
		}
		for _, id := range []string{"s-t", "s-20260101", "other-t7", early} { // The last one is a repeat.
			if fault := w.submitted(events.Request{ID: id, Goal: "g", Plan: plan(sub("a"))}); fault != nil {
				t.Errorf("%s: %v", id, fault)
			}
		}
		s := w.quiet(func(s *schedule.State) bool { return s.Status == schedule.Done })
		if diff := cmp.Diff([]string{"FINISHED", "FINISHED"}, statuses(&s)); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
		w.must("delete", id("s"))
		if fault := w.submitted(events.Request{ID: "s-t78", Goal: "g", Plan: plan(sub("a"))}); fault != nil {
			t.Errorf("after the schedule: %v", fault)
		}
	})
}

// A job that was there before the schedule keeps its id. The run that finds it taken says so, and the next one begins.
func TestAJobUnderTheIdOfARunIsNotTheRun(t *testing.T) {
	for _, previous := range []bool{false, true} {
		bustest.Virtual(t, func(t *testing.T) {
			w := newWorkers(t, nil)
			var told []string
			w.script = func(work *events.Work) *events.SubJobReported {
				w.mu.Lock()
				defer w.mu.Unlock()
				told = append(told, string(work.Inputs[schedule.PreviousInput]))
				return &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"of ` + work.Job + `"`)}
			}
			w.schedule(Default(), Deps{})
			taken := due(1)[0]
			if fault := w.submitted(events.Request{ID: taken, User: "mallory", Goal: "g", Plan: plan(sub("a")), Labels: map[string]string{schedule.Label: "s"}}); fault != nil {
				t.Fatal(fault)
			}
			w.Ended(taken)
			w.must("create", repeating(schedule.Spec{When: events.Schedule{Cron: "*/2 * * * *"}, MaxRuns: 3, Previous: previous}))
			s := w.quiet(func(s *schedule.State) bool { return s.Status == schedule.Done })
			if diff := cmp.Diff([]string{"refused", "FINISHED", "FINISHED"}, statuses(&s)); diff != "" {
				t.Fatalf("runs, which are told about those before them: %t (-want +got):\n%s", previous, diff)
			}
			if e := s.Recent[0].Error; s.Recent[0].JobID != taken || e == nil || e.Code != events.CodeConflict {
				t.Errorf("the run whose id is taken: %+v", s.Recent[0])
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			if slices.ContainsFunc(told, func(text string) bool { return strings.Contains(text, taken) }) {
				t.Errorf("runs are told what that job gave: %q", told)
			}
		})
	}
}

// A run's own job may end before the scheduler reads that it has begun.
func TestARunThatEndsAtOnceHasEnded(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		w.schedule(Default(), Deps{})
		w.must("create", repeating(schedule.Spec{When: minutes(1), MaxRuns: 5}))
		for range 3 {
			w.must("trigger", id("s"))
			<-time.After(10 * time.Second)
		}
		s := w.quiet(func(s *schedule.State) bool { return s.Status == schedule.Done })
		if slices.ContainsFunc(s.Recent, func(r schedule.Run) bool { return r.Status != schedule.RunStatus(events.Finished) }) || len(s.Recent) != 8 {
			t.Errorf("runs: %+v", s.Recent)
		}
	})
}
