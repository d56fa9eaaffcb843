//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Each process is killed while two SubJobs of a diamond are running. Nothing finished is repeated. What is running is
// repeated at most once, and only if its runner, or the bus, was killed.
func TestAJobFinishesWhenAProcessWasKilledInItsMiddle(t *testing.T) {
	t.Parallel() // It mostly waits.
	for _, victim := range []string{scheduler, planner, runner, natsServer, "all"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			s := whole(t)
			s.hold("j", "b", "c")
			s.submit("j", diamond()...)
			s.await(1, "begin", "j", "b")
			s.await(1, "begin", "j", "c")
			for _, p := range s.of(victim) {
				p.kill()
			}
			if victim != runner && victim != "all" {
				s.open("j", "b", "c") // The work ends while the other one is away.
				s.await(1, "end", "j", "b")
				s.await(1, "end", "j", "c")
			}
			at := time.Now()
			for _, p := range s.of(victim) {
				p.start()
			}
			if victim == runner || victim == "all" {
				s.open("j", "b", "c")
			}
			s.finish("j")
			t.Logf("finished %s after the restart; b began %d times, c %d times", time.Since(at).Round(time.Millisecond),
				s.count("begin", "j", "b"), s.count("begin", "j", "c"))
			allowed := map[string]int{"a": 1, "b": 1, "c": 1, "d": 1}
			if victim == runner || victim == natsServer || victim == "all" {
				allowed["b"], allowed["c"] = 2, 2
			}
			for id, most := range allowed {
				if n := s.count("begin", "j", id); n < 1 || n > most {
					t.Errorf("%s began %d times, at most %d are allowed", id, n, most)
				}
			}
		})
	}
}

// Every kind of process is killed once while many jobs are running.
func TestJobsInMotionSurviveEveryKill(t *testing.T) {
	t.Parallel() // It mostly waits.
	s := whole(t)
	const n = 12
	jobs := s.many("m", n, diamond())
	done := map[[2]string]int{} // How often a SubJob had begun when its report was seen.
	kills := 0
	for i, victim := range []string{planner, runner, scheduler, natsServer, "all"} {
		s.await(4+8*i, "end", "", "")
		for _, k := range s.reported(jobs) {
			if _, known := done[k]; !known {
				done[k] = s.count("begin", k[0], k[1])
			}
		}
		for _, p := range s.of(victim) {
			p.kill()
		}
		for _, p := range s.of(victim) {
			p.start()
		}
		if victim == runner || victim == natsServer || victim == "all" {
			kills++
		}
	}
	s.ready()
	s.finish(jobs...)
	begun := 0
	for _, job := range jobs {
		for _, id := range []string{"a", "b", "c", "d"} {
			b := s.count("begin", job, id)
			begun += b
			if b < 1 || b > 1+kills {
				t.Errorf("%s/%s began %d times", job, id, b)
			}
			if before, reported := done[[2]string{job, id}]; reported && b != before {
				t.Errorf("%s/%s was reported and began again", job, id)
			}
		}
	}
	t.Logf("%d SubJobs, %d executions, %d reports seen before a kill, %d kills of a runner or its bus", 4*n, begun, len(done), kills)
}

// reported returns the SubJobs whose reports are in the log.
func (s *stack) reported(jobs []string) [][2]string {
	s.t.Helper()
	ctx, cancel := s.context()
	defer cancel()
	var list [][2]string
	for _, job := range jobs {
		for e, err := range s.bus.Events(ctx, job, 0) {
			if err != nil {
				break // Not admitted yet.
			}
			if e.Kind == events.KindSubJobReported {
				list = append(list, [2]string{job, e.SubJob})
			}
		}
	}
	return list
}
