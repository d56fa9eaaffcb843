package app

import (
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// freezer stops a process in the middle of everything, as SIGSTOP does: nothing is read, nothing written.
type freezer struct {
	server bus.Options

	mu     sync.Mutex
	thaw   sync.Cond
	frozen bool
}

// InProcessConn returns a connection that freezes with the process. What the server sends meanwhile is kept, as in a socket's
// buffer; what the client sends leaves when it wakes.
func (f *freezer) InProcessConn() (net.Conn, error) {
	conn, err := f.server.InProcess.InProcessConn()
	if err != nil {
		return nil, err
	}
	c := &frozenConn{Conn: conn, f: f}
	go func() { // Ends when the server closes the connection.
		for {
			b := make([]byte, 32<<10)
			n, err := conn.Read(b)
			f.mu.Lock()
			c.in, c.err = append(c.in, b[:n]...), err
			f.thaw.Broadcast()
			f.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return c, nil
}

func (f *freezer) set(frozen bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frozen = frozen
	f.thaw.Broadcast()
}

func (f *freezer) wait() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.frozen {
		f.thaw.Wait()
	}
}

// frozenConn is guarded by its freezer's lock.
type frozenConn struct {
	net.Conn
	f       *freezer
	in, out []byte
	err     error
}

func (c *frozenConn) Read(b []byte) (int, error) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	for c.f.frozen || len(c.in) == 0 && c.err == nil {
		c.f.thaw.Wait()
	}
	if len(c.in) == 0 {
		return 0, c.err
	}
	n := copy(b, c.in)
	c.in = c.in[n:]
	return n, nil
}

func (c *frozenConn) Write(b []byte) (int, error) {
	c.f.mu.Lock()
	c.out = append(c.out, b...)
	if c.f.frozen {
		c.f.mu.Unlock()
		return len(b), nil
	}
	out := c.out
	c.out = nil
	c.f.mu.Unlock()
	if _, err := c.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// pause plays a scene with two schedulers; the one at work freezes at a boundary until the other has ended the job.
func (s *scene) pause(t *testing.T, at boundary) {
	w := newWorkers(t, s.script)
	f := &freezer{server: w.Server.Options("first")}
	f.thaw.L = &f.mu
	options := w.Server.Options("first")
	options.InProcess = f
	first := musttest.Get(bus.Connect(t.Context(), options))(t)
	t.Cleanup(first.Close)
	var mu sync.Mutex
	passed := 0
	frozen := make(chan struct{})
	hook := func(point string) error {
		mu.Lock()
		if point == at.point {
			passed++
		}
		mine := point == at.point && passed == at.visit
		mu.Unlock()
		if mine {
			f.set(true)
			close(frozen)
		}
		f.wait()
		return nil
	}
	w.schedule(Default(), Deps{Bus: first, Hook: hook})
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
	select {
	case <-frozen:
	case <-time.After(rest): // The point was not reached this time, and will not be reached any more.
		mu.Lock()
		passed = max(passed, at.visit)
		mu.Unlock()
		f.set(true)
	}
	w.schedule(Default(), Deps{})
	if end := w.Ended(s.request.ID); end.Status != s.status {
		t.Errorf("end: %+v", end)
	}
	f.set(false)
	w.Submit(events.Request{ID: bystander, Goal: "g", Plan: diamond()})
	w.Ended(bystander)
	<-time.After(20 * time.Second) // Virtual: every save, redelivery and takeover there can be.
	for _, id := range []string{s.request.ID, bystander} {
		kept := w.saved(id, func(*graph.State) bool { return true })
		if diff := cmp.Diff(asJSON(t, w.Folded(id)), asJSON(t, kept)); diff != "" {
			t.Errorf("kept state of %s is not the fold of the log (-fold +kept):\n%s", id, diff)
		}
	}
	w.settled()
	w.stop()
	slices.Sort(w.runs)
	if want := append(slices.Clone(s.runs), "a/1", "b/1", "c/1", "d/1"); s.runs != nil {
		slices.Sort(want)
		if diff := cmp.Diff(want, w.runs); diff != "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
	}
}

// pauses plays the scene with a pause at every stride-th boundary.
func (s *scene) pauses(t *testing.T, stride int) {
	var points []string
	bustest.Virtual(t, func(t *testing.T) { points = s.play(t, boundary{}) })
	for n := 0; n < len(points); n += stride {
		at := boundaryOf(points, n)
		t.Run(at.String(), func(t *testing.T) {
			bustest.Virtual(t, func(t *testing.T) { s.pause(t, at) })
		})
	}
}

func TestASchedulerThatFreezesAndWakesDoesNoHarm(t *testing.T) {
	for _, s := range append(scenes(), sharing()) {
		t.Run(s.name, func(t *testing.T) { s.pauses(t, 23) }) // Far from every multiple of a step's boundaries.
	}
}
