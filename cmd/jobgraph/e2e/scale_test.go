//go:build e2e

package e2e

import (
	"slices"
	"testing"
	"time"
)

// Two of each service run at once. Whichever scheduler is active, each is killed once and not restarted in time to help.
func TestTheStandbyTakesOver(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := whole(t)
	s.add(scheduler)
	s.add(planner)
	s.add(runner)
	s.ready()
	for i, job := range []string{"first", "second"} {
		s.hold(job, "b", "c")
		s.submit(job, diamond()...)
		s.await(1, "begin", job, "b")
		s.await(1, "begin", job, "c")
		at := time.Now()
		s.of(scheduler)[i].kill()
		s.open(job, "b", "c")
		s.finish(job)
		t.Logf("%s finished %s after scheduler %d was killed", job, time.Since(at).Round(time.Millisecond), i+1)
		s.of(scheduler)[i].start()
		s.ready()
	}
	jobs := s.many("m", 8, diamond())
	s.await(8, "end", "", "")
	s.of(planner)[0].kill()
	s.of(scheduler)[0].kill()
	s.finish(jobs...)
	for _, job := range jobs {
		for _, id := range []string{"a", "b", "c", "d"} {
			if n := s.count("begin", job, id); n != 1 {
				t.Errorf("%s/%s began %d times, and no runner was killed", job, id, n)
			}
		}
	}
	s.of(planner)[0].start()
	s.of(scheduler)[0].start()
	s.ready()
}

// A runner serves only the given pools and experts; work waits for the runner with its expert.
func TestARunnerServesASubsetOfTheExperts(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := bare(t, "")
	s.card("left", "left", "work")
	s.card("right", "right", "work")
	s.add(scheduler)
	s.add(planner)
	left := s.add(runner, "--pools", "left", "--experts", s.dir+"/cards/left.md")
	right := s.add(runner, "--pools", "right", "--experts", s.dir+"/cards/right.md")
	s.ready()
	steps := slices.Clone(diamond())
	for i, expert := range []string{"left", "right", "left", "right"} {
		steps[i].Expert = expert
	}
	s.hold("j", "a")
	s.submit("j", steps...)
	s.await(1, "begin", "j", "a")
	right.drain()
	s.open("j", "a")
	s.await(1, "end", "j", "c")
	if n := s.count("begin", "j", "b"); n != 0 {
		t.Errorf("b is the other runner's, and began %d times", n)
	}
	left.drain()
	right.start()
	s.finish("j")
	for _, m := range s.marks() {
		if want := map[string]string{"a": "left", "b": "right", "c": "left", "d": "right"}[m.subjob]; m.name != want {
			t.Errorf("%s was done by %s, want %s", m.subjob, m.name, want)
		}
	}
}
