//go:build e2e

package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// Another runner continues the work of a killed one when the lease, here the default of 10 s, is over.
func TestAnotherRunnerTakesOverAboutWhenTheLeaseIsOver(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := bare(t, "")
	s.card("worker", "", "work")
	s.add(scheduler, "--lease", "10s")
	s.add(planner)
	s.add(runner)
	s.ready()
	s.hold("j", "b", "c")
	s.submit("j", diamond()...)
	s.await(1, "begin", "j", "b")
	s.await(1, "begin", "j", "c")
	s.add(runner)
	s.ready()
	s.of(runner)[0].kill()
	at := time.Now()
	s.await(2, "begin", "j", "b")
	s.await(2, "begin", "j", "c")
	t.Logf("taken over %s after the kill", time.Since(at).Round(time.Millisecond))
	s.open("j", "b", "c")
	s.finish("j")
}

// A runner that was suspended for longer than its lease continues its work unless it was taken over meanwhile.
func TestARunnerThatStoodStillKeepsWhatNobodyElseTook(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := whole(t)
	s.hold("j", "b", "c")
	s.submit("j", diamond()...)
	s.await(1, "begin", "j", "b")
	s.await(1, "begin", "j", "c")
	r := s.of(runner)[0]
	r.pause()
	<-time.After(8 * time.Second) // The lease is 3 s, the broker's timeout 5 s.
	r.wake()
	until(t, "the runner is ready", patience, func() bool { return s.get(r, "/readyz") == 200 })
	<-time.After(2 * time.Second) // It checks whether its claims still hold.
	s.open("j", "b", "c")
	s.finish("j")
	for _, id := range []string{"b", "c"} {
		if n := s.count("begin", "j", id); n != 1 {
			t.Errorf("%s began %d times", id, n)
		}
	}
}

// The only runner of an expert is restarted repeatedly while jobs are submitted: no plan is rejected because the expert is
// missing, and no work waits for a lease.
func TestARollingRestartRejectsNoPlan(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := whole(t)
	r := s.of(runner)[0]
	var jobs []string
	for round, prefix := range []string{"x", "y", "z"} {
		musttest.Do(t, r.cmd.Process.Signal(syscall.SIGTERM))
		jobs = append(jobs, s.many(prefix, 4, diamond())...)
		<-r.ended
		<-time.After(3 * time.Second) // Longer than a planner waits for an expert.
		jobs = append(jobs, s.many(prefix+"2", 4, diamond())...)
		at := time.Now()
		r.start()
		s.await(32*(round+1), "end", "", "")
		t.Logf("all of the work was done %s after the start", time.Since(at).Round(time.Millisecond))
	}
	s.finish(jobs...)
	for _, m := range s.marks() {
		if n := s.count("begin", m.job, m.subjob); n != 1 {
			t.Errorf("%s/%s began %d times", m.job, m.subjob, n)
		}
	}
}
