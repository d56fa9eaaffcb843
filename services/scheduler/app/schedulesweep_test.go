package app

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/recurring"
)

// recur plays a schedule of four due times, the first of which hangs until the second replaces it; the scheduler crashes at a
// boundary, if there is one, and another one takes over. It returns the boundaries that were passed.
func recur(t *testing.T, crash boundary) []string {
	w := newWorkers(t, nil)
	var hanging string
	w.script = slow(w, &hanging)
	passed := crashAt(crash)
	first := w.Server.Connect("first")
	scheduler := w.schedule(Default(), Deps{Bus: first, Hook: passed.pass})
	taken := make(chan struct{})
	if crash.visit > 0 {
		go func() { // Ends with the crash, which is awaited below.
			defer close(taken)
			<-passed.crashed
			first.Close()
			w.schedule(Default(), Deps{})
		}()
	} else {
		close(taken)
	}
	made := w.must("create", repeating(schedule.Spec{When: minutes(2), Overlap: schedule.OverlapReplace, MaxRuns: 4, Previous: true}))
	s := w.quiet(func(s *schedule.State) bool { return s.Status == schedule.Done })
	if _, faults := w.tell("delete", id("s")); len(faults) > 0 && faults[0].Code != events.CodeNotFound { // Asked again, it is gone.
		t.Error(faults)
	}
	if crash.visit > 0 && !passed.await() {
		t.Errorf("there was no %s", crash)
	}
	<-taken
	want, kept := map[string]events.Status{}, map[string]events.Status{}
	for n := range 4 {
		due := made.Created.Truncate(time.Second).Add(time.Duration(n+1) * 2 * time.Minute)
		want[schedule.JobID("s", schedule.Key(due))] = events.Finished
	}
	want[w.first(&hanging)] = events.Stopped
	for _, r := range s.Recent {
		kept[r.JobID] = events.Status(r.Status)
	}
	if diff := cmp.Diff(want, w.jobs()); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if runs := w.taken(); len(runs) != 4 {
		t.Errorf("4 runs have work, not %v", runs)
	}
	<-time.After(time.Minute)
	if last, err := w.Bus.Schedules().Last(t.Context()); err != nil || last != 0 {
		t.Errorf("%d is left of the schedule, %v", last, err)
	}
	_ = scheduler.Stop() // The crash is its error.
	return passed.points
}

func TestACrashAtABoundaryOfAScheduleNeitherLosesNorDoublesARun(t *testing.T) {
	var points []string
	bustest.Virtual(t, func(t *testing.T) { points = recur(t, boundary{}) })
	seen := map[string]bool{}
	for _, n := range ofEachKind(points, map[string]bool{}) {
		crash := boundaryOf(points, n)
		if !strings.HasPrefix(crash.point, "schedule.") {
			continue // Those of jobs have a sweep of their own.
		}
		seen[crash.point] = true
		t.Run(crash.String(), func(t *testing.T) {
			bustest.Virtual(t, func(t *testing.T) { recur(t, crash) })
		})
	}
	t.Logf("%d boundaries", len(points))
	for _, point := range []string{recurring.AtStart, recurring.AtStarted, recurring.AtStop, recurring.AtArm, recurring.AtArmed, recurring.AtErase} {
		if !seen[point] {
			t.Errorf("no crash at %s", point)
		}
	}
}
