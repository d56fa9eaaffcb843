//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestAStoppedJobLeavesNobodyOfItsProcessGroup(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := whole(t)
	s.submit("f", step("a", "forker"), step("b", "forker"))
	s.await(2, "forked", "f", "")
	until(t, "both have their children", patience, func() bool { return len(living("f")) >= 8 })
	at := time.Now()
	s.cli("stop", "f", "--reason", "enough", "--timeout", "30s").wants(t, 0, "")
	said := time.Since(at)
	until(t, "the group is gone", 30*time.Second, func() bool { return len(living("f")) == 0 })
	t.Logf("stop returned after %s, the group was gone after %s (100 ms of grace)", said.Round(time.Millisecond), time.Since(at).Round(time.Millisecond))
	s.cli("get", "f").wants(t, 0, "STOPPED")
	s.cli("watch", "f", "--no-input", "--timeout", "30s").wants(t, 3, "")
	s.replays("f")
}

// The commands of a killed runner end with it; their children are ended by the next runner on the machine.
func TestAKilledRunnersProcessesAreEnded(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := whole(t)
	s.submit("f", step("a", "forker"))
	s.await(1, "forked", "f", "a")
	before := living("f")
	s.of(runner)[0].kill()
	s.cli("stop", "f", "--timeout", "30s").wants(t, 0, "")
	s.of(runner)[0].start()
	until(t, fmt.Sprintf("the processes %v are gone", before), 30*time.Second, func() bool { return len(living("f")) == 0 })
	s.replays("f")
}

func TestStopThenRecoverAtOnceNeverLeavesTwoLiveRuns(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := whole(t)
	s.hold("sr", "b", "c")
	s.submit("sr", diamond()...)
	const rounds = 5
	for round := 1; round <= rounds; round++ {
		s.await(round, "begin", "sr", "b")
		s.await(round, "begin", "sr", "c")
		ctx, cancel := s.context()
		for _, told := range []struct {
			kind events.Kind
			data any
		}{{events.KindStopRequested, &events.StopRequested{Reason: "again"}}, {events.KindRecoverRequested, &events.RecoverRequested{}}} {
			musttest.Get(s.bus.Tell(ctx, "sr", told.kind, told.data))(t)
		}
		cancel()
	}
	s.await(rounds+1, "begin", "sr", "b")
	s.await(rounds+1, "begin", "sr", "c")
	s.open("sr", "b", "c")
	s.finish("sr")
	if a, d := s.count("begin", "sr", "a"), s.count("begin", "sr", "d"); a != 1 || d != 1 {
		t.Errorf("a began %d times and d %d times", a, d)
	}
	for _, id := range []string{"b", "c"} {
		if b, e := s.count("begin", "sr", id), s.count("end", "sr", id); b != rounds+1 || e != 1 {
			t.Errorf("%s began %d times and ended %d times", id, b, e)
		}
	}
}

// A runner is suspended with running work while the job is stopped and recovered: its runs are replaced when their leases
// are over. When it resumes, it ends its work, and nothing of the old runs is accepted.
func TestARunnerThatWakesFromThePastIsFencedOut(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := whole(t)
	s.hold("z", "b", "c")
	s.submit("z", diamond()...)
	s.await(1, "begin", "z", "b")
	s.await(1, "begin", "z", "c")
	past := living("z")
	first := s.of(runner)[0]
	first.pause()
	defer first.wake()
	s.add(runner)
	s.cli("stop", "z", "--timeout", "30s").wants(t, 0, "")
	at := time.Now()
	s.cli("recover", "z", "--timeout", "30s").wants(t, 0, "")
	s.await(2, "begin", "z", "b")
	s.await(2, "begin", "z", "c")
	t.Logf("the runs of a runner that hangs were replaced after %s (lease 3s, margin 500ms)", time.Since(at).Round(time.Millisecond))
	first.wake()
	until(t, "what ran in the past is ended", 30*time.Second, func() bool {
		return !slices.ContainsFunc(living("z"), func(pid string) bool { return slices.Contains(past, pid) })
	})
	s.open("z", "b", "c")
	s.ends("z")
	s.replays("z")
	for _, id := range []string{"b", "c", "d"} {
		if n := s.count("end", "z", id); n != 1 {
			t.Errorf("%s ended %d times", id, n)
		}
	}
}
