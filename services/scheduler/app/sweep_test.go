package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// scene is a reference job of the sweep.
type scene struct {
	name    string
	request events.Request
	also    []events.Request // Submitted behind it; they have to finish, too.
	script  func(*events.Work) *events.SubJobReported
	// during is called once when the first event of a kind is in the log, scheduler alive or not.
	on     events.Kind
	during func(w *world)
	status events.Status
	runs   []string
	// check looks at what else there is behind the end.
	check func(w *world)
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
					return nil // It hangs.
				}
				return &events.SubJobReported{Outcome: events.Success}
			},
			on: events.KindSubJobReported, during: func(w *world) { w.control("s", events.KindStopRequested, &events.StopRequested{Reason: "enough"}) },
			status: events.Stopped,
		},
	}
}

func (w *world) control(job string, kind events.Kind, data any) {
	m, err := events.Encode(w.bus.Names(), events.Event{Kind: kind, ID: job + "/" + string(kind), Job: job, Source: "test", Data: data})
	if err != nil {
		w.t.Error(err)
	}
	if _, err := w.bus.Publish(context.Background(), m, bus.Expect{}); err != nil {
		w.t.Error(err)
	}
}

// boundaries are those a scheduler passes; it crashes at one of them, and fails at all that follow.
type boundaries struct {
	crash   int           // The number of the fatal one, 0 for none.
	crashed chan struct{} // Closed with the crash.

	mu     sync.Mutex // Guards points.
	points []string
}

func crashAt(n int) *boundaries {
	return &boundaries{crash: n, crashed: make(chan struct{})}
}

// pass is the scheduler's hook.
func (b *boundaries) pass(point string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.points = append(b.points, point)
	if b.crash == 0 || len(b.points) < b.crash {
		return nil
	}
	if len(b.points) == b.crash {
		close(b.crashed)
	}
	return errors.New("crash")
}

// play runs a scene; the scheduler crashes at the crash-th boundary (0: never) and a new one takes over. It gives the
// boundaries passed before the crash.
func (s *scene) play(t *testing.T, crash int) []string {
	w := newWorld(t, s.script)
	passed := crashAt(crash)
	first := w.server.Connect("first")
	stop := w.scheduleOn(Default(), Deps{Bus: first, Hook: passed.pass})
	second := func() error { return nil }
	if crash > 0 {
		go func() { // Ends with the crash, which every sweep reaches.
			<-passed.crashed
			first.Close()
		}()
	}
	w.submit(s.request)
	for _, r := range s.also {
		w.submit(r)
	}
	if s.during != nil {
		go w.await(context.Background(), w.bus.Names().JobEvents(s.request.ID), func(e events.Event) bool {
			if e.Kind == s.on {
				s.during(w)
			}
			return e.Kind == s.on
		})
	}
	if crash > 0 {
		<-passed.crashed
		second = w.schedule(Default(), Deps{})
	}
	end := w.ended(s.request.ID)
	if end.Status != s.status {
		t.Errorf("end: %+v", end)
	}
	for _, r := range s.also {
		if end := w.ended(r.ID); end.Status != events.Finished {
			t.Errorf("end of %s: %+v", r.ID, end)
		}
	}
	w.settled() // A report of the stopped run may follow the end.
	kept := w.saved(s.request.ID, func(k *graph.State) bool { return k.Status == s.status && !k.EndOwed && len(k.Facts) == 0 })
	if diff := cmp.Diff(asJSON(t, w.folded(s.request.ID)), asJSON(t, kept)); diff != "" {
		t.Errorf("kept state is not the fold of the log (-fold +kept):\n%s", diff)
	}
	if s.check != nil {
		s.check(w)
	}
	_ = stop() // The crash is its error.
	if err := second(); err != nil {
		t.Error(err)
	}
	w.stop()
	slices.Sort(w.runs)
	if diff := cmp.Diff(s.runs, w.runs); s.runs != nil && diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	return passed.points
}

// settled waits until every delivery of the log is acknowledged. It is looked at only when everybody has come to rest, as time
// passes for nobody before: a worker may be about to report.
func (w *world) settled() {
	w.t.Helper()
	for range 200 {
		<-time.After(100 * time.Millisecond)
		facts, err := w.bus.ConsumerInfo(w.t.Context(), w.bus.Names().Log, "scheduler-0of1")
		if err != nil {
			w.t.Fatal(err)
		}
		if facts.Unsettled == 0 && facts.Pending == 0 {
			return
		}
	}
	w.t.Error("deliveries stay unacknowledged")
}

// bubble runs f in virtual time. The NATS client pools timers for the whole process; one of an earlier bubble must not come
// back in a later one, and two collections empty a pool.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	runtime.GC()
	runtime.GC()
	synctest.Test(t, f)
}

// crashes plays the scene once for each of its boundaries that are wanted; wanted is told them all.
func (s *scene) crashes(t *testing.T, wanted func(points []string) []int) {
	var points []string
	bubble(t, func(t *testing.T) { points = s.play(t, 0) })
	list := wanted(points)
	t.Logf("%d of %d boundaries", len(list), len(points))
	for _, n := range list {
		t.Run(fmt.Sprintf("%d-%s", n+1, points[n]), func(t *testing.T) {
			bubble(t, func(t *testing.T) { s.play(t, n+1) })
		})
	}
}

// ofEachKind gives the first and the last boundary of each kind; those between are left to the full sweep. Of a kind that is
// known already, from another scene, it gives the last alone.
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
	bustest.Outside(t)
	known := map[string]bool{}
	for _, s := range append(scenes(), sharing()) {
		t.Run(s.name, func(t *testing.T) {
			s.crashes(t, func(points []string) []int { return ofEachKind(points, known) })
		})
	}
}
