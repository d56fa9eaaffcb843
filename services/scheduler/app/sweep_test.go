package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// scene is a reference job of the sweep.
type scene struct {
	name    string
	request events.Request
	also    []events.Request // Submitted after it; they have to finish as well.
	script  func(*events.Work) *events.SubJobReported
	// during is called once when the first event of a kind is in the log, scheduler alive or not.
	on     events.Kind
	during func(w *workers)
	status events.Status
	runs   []string
	// check checks further conditions after the end.
	check func(w *workers)
}

func ms(n int) *events.Duration {
	d := events.Duration(time.Duration(n) * time.Millisecond)
	return &d
}

func scenes() []scene {
	fails := func(subjob string, outcome events.Outcome) func(*events.Work) *events.SubJobReported {
		return func(w *events.Work) *events.SubJobReported {
			if w.SubJob == subjob && w.Run == 1 {
				return &events.SubJobReported{Outcome: outcome, Lesson: "do better"}
			}
			return &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"` + w.SubJob + `"`)}
		}
	}
	return []scene{
		talking(),
		{
			name: "diamond", request: events.Request{ID: "d", Goal: "g", Plan: diamond()}, status: events.Finished,
			runs: []string{"a/1", "b/1", "c/1", "d/1"},
		},
		{
			name: "retry", request: events.Request{ID: "r", Goal: "g", Plan: diamond(), Limits: events.Limits{RetryDelay: ms(10)}},
			script: fails("b", events.ExecutionError), status: events.Finished, runs: []string{"a/1", "b/1", "b/2", "c/1", "d/1"},
		},
		{
			name: "input", request: events.Request{ID: "i", Goal: "g", Plan: diamond()},
			script: fails("b", events.InputDataError), status: events.Finished,
		},
		{
			name: "stop", request: events.Request{ID: "s", Goal: "g", Plan: diamond()},
			script: func(w *events.Work) *events.SubJobReported {
				if w.SubJob == "c" {
					return nil // The run hangs.
				}
				return &events.SubJobReported{Outcome: events.Success}
			},
			on: events.KindSubJobReported, during: func(w *workers) {
				w.Tell(events.Event{Kind: events.KindStopRequested, Job: "s", Data: &events.StopRequested{Reason: "enough"}})
			},
			status: events.Stopped,
		},
	}
}

// boundary is one passing of a point: its number among those of its kind, from 1; the zero value is none. Its number among all
// would differ each time, because jobs and schedules pass theirs concurrently, and what arrives together is handled together.
type boundary struct {
	point string
	visit int
}

func (b boundary) String() string { return fmt.Sprintf("%s-%d", b.point, b.visit) }

// boundaryOf returns the boundary that was passed as points[n].
func boundaryOf(points []string, n int) boundary {
	b := boundary{point: points[n]}
	for _, point := range points[:n+1] {
		if point == b.point {
			b.visit++
		}
	}
	return b
}

// boundaries are those that a scheduler passes; it crashes at one of them, and fails at all later ones.
type boundaries struct {
	fatal   boundary
	crashed chan struct{} // Closed with the crash.

	mu     sync.Mutex // Guards what is below.
	points []string
	dead   bool
}

func crashAt(fatal boundary) *boundaries {
	return &boundaries{fatal: fatal, crashed: make(chan struct{})}
}

// pass is the scheduler's hook.
func (b *boundaries) pass(point string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.points = append(b.points, point)
	if boundaryOf(b.points, len(b.points)-1) == b.fatal {
		b.die()
	}
	if b.dead {
		return errors.New("crash")
	}
	return nil
}

// die needs the lock.
func (b *boundaries) die() {
	if !b.dead {
		b.dead = true
		close(b.crashed)
	}
}

// rest is how long nothing new begins until a scheduler counts as idle, in virtual time.
const rest = 2 * time.Minute

// await waits for the crash. It reports whether the boundary was passed: work that is handled together with other work passes fewer
// of them. In that case the scheduler crashes while idle, when it passes about one per hour.
func (b *boundaries) await() bool {
	select {
	case <-b.crashed:
		return true
	case <-time.After(rest):
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	passed := b.dead // At this very moment.
	b.die()
	return passed
}

// play runs a scene; the scheduler crashes at a boundary, if there is one, and a new one takes over. It returns the boundaries that
// were passed.
func (s *scene) play(t *testing.T, crash boundary) []string {
	w := newWorkers(t, s.script)
	passed := crashAt(crash)
	first := w.Server.Connect("first")
	scheduler := w.schedule(Default(), Deps{Bus: first, Hook: passed.pass})
	if crash.visit > 0 {
		go func() { // Ends with the crash, which is awaited below.
			<-passed.crashed
			first.Close()
		}()
	}
	w.Submit(s.request)
	for _, r := range s.also {
		w.Submit(r)
	}
	if s.during != nil {
		go w.Await(w.Names.JobEvents(s.request.ID), func(e events.Event) bool {
			if e.Kind == s.on {
				s.during(w)
			}
			return e.Kind == s.on
		})
	}
	if crash.visit > 0 {
		passed.await()
		w.schedule(Default(), Deps{})
	}
	end := w.Ended(s.request.ID)
	if end.Status != s.status {
		t.Errorf("end: %+v", end)
	}
	for _, r := range s.also {
		if end := w.Ended(r.ID); end.Status != events.Finished {
			t.Errorf("end of %s: %+v", r.ID, end)
		}
	}
	w.settled() // A report of the stopped run may follow the end.
	kept := w.saved(s.request.ID, func(k *graph.State) bool { return k.Status == s.status && !k.EndOwed && len(k.Facts) == 0 })
	if diff := cmp.Diff(asJSON(t, w.Folded(s.request.ID)), asJSON(t, kept)); diff != "" {
		t.Errorf("kept state is not the fold of the log (-fold +kept):\n%s", diff)
	}
	if s.check != nil {
		s.check(w)
	}
	_ = scheduler.Stop() // The crash is its error.
	w.stop()
	slices.Sort(w.runs)
	if diff := cmp.Diff(s.runs, w.runs); s.runs != nil && diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	return passed.points
}

// settled waits until every delivery of the log is acknowledged. It checks only when everything is idle, since time does not count
// as lost before: a worker may be about to report.
func (w *workers) settled() {
	w.Helper()
	for range 200 {
		<-time.After(100 * time.Millisecond)
		facts := musttest.Get(w.Bus.Queues().Info(w.Context(), w.Names.Log, "scheduler-0of1"))(w)
		if facts.Unsettled == 0 && facts.Pending == 0 {
			return
		}
	}
	w.Error("deliveries stay unacknowledged")
}

// crashes plays the scene once for each wanted boundary; wanted is called with all of them.
func (s *scene) crashes(t *testing.T, wanted func(points []string) []int) {
	var points []string
	bustest.Virtual(t, func(t *testing.T) { points = s.play(t, boundary{}) })
	list := wanted(points)
	t.Logf("%d of %d boundaries", len(list), len(points))
	for _, n := range list {
		crash := boundaryOf(points, n)
		t.Run(crash.String(), func(t *testing.T) {
			bustest.Virtual(t, func(t *testing.T) { s.play(t, crash) })
		})
	}
}

// ofEachKind returns the first and the last boundary of each kind; the full sweep covers those in between. For a kind that is known
// already from another scene it returns only the last.
func ofEachKind(points []string, known map[string]bool) (list []int) {
	first, last := map[string]int{}, map[string]int{}
	for i, point := range points {
		if _, seen := first[point]; !seen {
			first[point] = i
		}
		last[point] = i
	}
	for i, point := range points {
		if i == last[point] || i == first[point] && !known[point] {
			list = append(list, i)
		}
	}
	for point := range first {
		known[point] = true
	}
	return list
}

func TestACrashAtABoundaryOfEachKindChangesNothing(t *testing.T) {
	known := map[string]bool{}
	for _, s := range append(scenes(), sharing()) {
		t.Run(s.name, func(t *testing.T) {
			s.crashes(t, func(points []string) []int { return ofEachKind(points, known) })
		})
	}
}

// Other boundaries that are passed meanwhile do not move a crash, and a boundary that never comes does not block a sweep.
func TestASweepCrashesAtTheBoundaryItNamesOrElseAtRest(t *testing.T) {
	fatal := boundary{"ack", 2}
	for _, c := range []struct {
		points []string
		passed bool
	}{{[]string{"ack", "save", "ack"}, true}, {[]string{"save", "ack", "save", "save"}, false}} {
		bustest.Virtual(t, func(t *testing.T) {
			b := crashAt(fatal)
			for n, point := range c.points {
				if crashed := b.pass(point) != nil; crashed != (boundaryOf(c.points, n) == fatal) {
					t.Errorf("%v: a crash at %d: %v", c.points, n, crashed)
				}
			}
			if passed := b.await(); passed != c.passed {
				t.Errorf("%v: passed: %v", c.points, passed)
			}
			if b.pass("save") == nil {
				t.Errorf("%v: no crash at rest", c.points)
			}
		})
	}
}
