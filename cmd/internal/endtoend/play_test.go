//go:build sweep

package endtoend

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
)

// play says how a scene is played.
type play struct {
	// victim is killed at its nth boundary (0: never) and restarted.
	victim string
	nth    int
	// off, if set, is the safety that is switched off.
	off *safety
	// pause suspends the victim instead of killing it, until another process has done its work.
	pause bool
}

// played is the result of a play.
type played struct {
	outcome map[string]string
	// points are the boundaries that the first victim passed.
	points []string
	// faults are the violated promises.
	faults []string
}

// short is how long to wait for a play without a safety.
const short = 10 * time.Minute

// play plays the scene once.
func (c *scene) play(t *testing.T, p play) *played {
	t.Helper()
	var got played
	w := &witness{}
	virtual(t, func(s *system) {
		w.TB, s.TB, s.Quiet, s.batches = s.TB, w, true, c.batches
		defer w.end()
		s.split = c.split
		if p.off != nil || p.pause {
			s.Patience, s.dial = short, s.through(p.off, p.pause)
		}
		trap := &trap{nth: p.nth, pause: p.pause, sprung: make(chan struct{}), woken: make(chan struct{})}
		defer func() { got.points = trap.points }()
		c.act(s, &p, trap, &got)
	})
	got.faults = w.faults
	return &got
}

// act starts the services, springs the trap and checks the end.
func (c *scene) act(s *system, p *play, trap *trap, got *played) {
	var first *service
	for _, name := range []string{schedulerName, plannerName, runnerName} {
		if name == p.victim {
			first = s.start(name, trap.hook)
		} else {
			s.start(name, nil)
		}
	}
	defer s.attach(trap, first, p.victim)()
	batches := s.batchesSeen(c.batches)
	r := c.request
	r.ID, r.Goal = "j", c.name
	s.Submit(r)
	if c.say != nil {
		s.Await(s.Names.JobEvents("j"), func(e events.Event) bool { return e.Kind == c.on })
		c.say(s)
	}
	if p.pause && p.victim == runnerName {
		s.interrupt(trap)
	}
	s.EndedAs("j", c.end)
	s.settled("j")
	if c.batches && batches() == 0 && p.nth == 0 {
		s.Errorf("no work went in a batch")
	}
	got.outcome = s.outcome("j")
	if c.loose {
		got.outcome = map[string]string{"job": got.outcome["job"]}
	}
	if p.pause {
		s.late(trap, p.victim)
		return
	}
	s.once(p.nth > 0 && p.victim == runnerName)
	for _, subject := range s.repeats("j") {
		s.Errorf("%s was said twice", subject)
	}
}

// attach makes a service that the trap catches crash, unless it is paused, and starts another one. The function that it returns
// ends that: what services do when they are stopped is not part of a play.
func (s *system) attach(t *trap, first *service, victim string) (end func()) {
	over, handled := make(chan struct{}), make(chan struct{})
	go func() { // Ends with the trap, or with the play.
		defer close(handled)
		select {
		case <-t.sprung:
		case <-over:
			if !t.isSprung() {
				return
			}
		}
		if !t.pause {
			first.Crash(first.bus)
		}
		s.start(victim, nil)
	}()
	return func() {
		t.disarm()
		close(over)
		t.wake()
		<-handled
	}
}

// batchesSeen waits until a runner has announced that it accepts batches, and counts them from then on.
func (s *system) batchesSeen(on bool) (count func() int) {
	if !on {
		return nil
	}
	ear, err := s.Bus.Tap(s.Names.PoolWork(batch.Pool(events.DefaultPool)))
	if err != nil {
		s.Fatalf("%v", err)
	}
	for taken := false; !taken; {
		list, err := s.Bus.Experts().List(context.Background())
		if err != nil {
			s.Fatalf("%v", err)
		}
		taken = slices.ContainsFunc(list, func(e bus.Entry) bool { return bytes.Contains(e.Value, []byte(`"batches":true`)) })
		if !taken {
			<-time.After(10 * time.Millisecond)
		}
	}
	heard := make(chan int, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // Ends when it is asked.
		n := 0
		for _, err := ear.Next(ctx); err == nil; _, err = ear.Next(ctx) {
			n++
		}
		heard <- n
	}()
	return func() int {
		defer ear.Close()
		synctest.Wait()
		cancel()
		return <-heard
	}
}

// once checks that no finished call was repeated. The death of a runner may leave one call of each of its runs with an
// unknown outcome, which is declared safe to repeat; without a death no run is executed twice.
func (s *system) once(doubt bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for call, n := range s.calls {
		if n > 1 && !doubt || n > 2 {
			s.Errorf("%s was made %d times", call, n)
		}
	}
	for run, n := range s.runs {
		if n > 1 && !doubt {
			s.Errorf("%s was executed %d times", run, n)
		}
		repeated := 0
		for call, n := range s.calls {
			if strings.HasPrefix(call, run+"/") {
				repeated += n - 1
			}
		}
		if repeated > n-1 {
			s.Errorf("%d calls of %s were repeated, and it was executed %d times", repeated, run, n)
		}
	}
}

// errKilled ends a service at a boundary.
var errKilled = errors.New("killed")

// trap is sprung when a service passes a boundary for the nth time.
type trap struct {
	nth    int
	pause  bool
	sprung chan struct{} // Closed at the boundary.
	woken  chan struct{} // Closed when a paused service may continue.

	mu       sync.Mutex // Guards the rest; never held while a service is paused.
	points   []string
	awake    bool
	disarmed bool
}

// hook is called at every boundary.
func (t *trap) hook(point string) error {
	t.mu.Lock()
	caught := t.nth > 0 && len(t.points) >= t.nth
	if !caught && !t.disarmed {
		t.points = append(t.points, point)
		if caught = len(t.points) == t.nth; caught {
			close(t.sprung)
		}
	}
	t.mu.Unlock()
	switch {
	case !caught:
		return nil
	case t.pause:
		<-t.woken
		return nil
	}
	return errKilled
}

// disarm makes the trap catch nothing new.
func (t *trap) disarm() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disarmed = true
}

func (t *trap) isSprung() bool {
	select {
	case <-t.sprung:
		return true
	default:
		return false
	}
}

// wake resumes a paused service. A second call does nothing.
func (t *trap) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.awake {
		t.awake = true
		close(t.woken)
	}
}
