//go:build sweep

package endtoend

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// scene is a reference job of the sweep.
type scene struct {
	name    string
	request events.Request
	split   func(*events.Work) *events.Plan
	// on and say interfere once, when an event of a kind is in the log.
	on  events.Kind
	say func(s *system)
	end events.Status
	// loose compares only how the job ended: what a failure meets in flight is a matter of moments.
	loose bool
}

func ms(n int) *events.Duration {
	d := events.Duration(time.Duration(n) * time.Millisecond)
	return &d
}

func scenes() []scene {
	fan := []events.SubJob{step("root", "gen:")}
	var leaves []string
	for _, id := range []string{"f1", "f2", "f3", "f4", "f5", "f6"} {
		fan = append(fan, step(id, "double:", "root"))
		leaves = append(leaves, id)
	}
	fan = append(fan, step("join", "sum:", leaves...))
	diamond := []events.SubJob{step("a", "gen:"), step("b", "double:", "a"), step("c", "add ten:", "a"), step("d", "sum:", "b", "c")}
	with := func(id, goal string) json.RawMessage {
		changed := append([]events.SubJob(nil), diamond...)
		for i := range changed {
			if changed[i].ID == id {
				changed[i].Goal = goal
			}
		}
		return plan(changed...)
	}
	quick := events.Limits{RetryDelay: ms(20)}
	return []scene{
		{name: "chain", request: events.Request{Plan: plan(step("a", "gen:"), step("b", "double:", "a"), step("c", "sum:", "b"))}, end: events.Finished},
		{name: "diamond", request: events.Request{Plan: plan(diamond...)}, end: events.Finished},
		{name: "fan", request: events.Request{Plan: plan(fan...)}, end: events.Finished},
		{name: "execution error", request: events.Request{Plan: with("b", "fail:1"), Limits: quick}, end: events.Finished},
		{name: "failure", request: events.Request{Plan: with("b", "fail:9"), Limits: quick}, end: events.Failed, loose: true},
		{name: "input error", request: events.Request{Plan: with("d", "bad input:1")}, end: events.Finished},
		{
			name: "splice", request: events.Request{Plan: with("b", "too complicated:")}, end: events.Finished,
			split: func(*events.Work) *events.Plan {
				one, two := step("one", "double:"), step("two", "add ten:")
				one.Pool, two.Pool = events.DefaultPool, events.DefaultPool
				return &events.Plan{SubJobs: []events.SubJob{one, two}}
			},
		},
		{
			name: "person", request: events.Request{Plan: with("b", "ask:")}, end: events.Finished, on: events.KindInputRequested,
			say: func(s *system) {
				s.say("j", events.KindInputClosed, "q-b", &events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`[7]`)})
			},
		},
		{
			name: "stop and recover", request: events.Request{Plan: plan(diamond...)}, end: events.Finished, on: events.KindSubJobReported,
			say: func(s *system) {
				s.say("j", events.KindStopRequested, "1", &events.StopRequested{})
				s.say("j", events.KindRecoverRequested, "1", &events.RecoverRequested{})
			},
		},
	}
}

// TestCrashSweep kills every service at every boundary of every reference job: the end is the same, no finished call is
// made twice, no event is lost.
func TestCrashSweep(t *testing.T) {
	for _, c := range scenes() {
		for _, victim := range []string{schedulerName, plannerName, runnerName} {
			if victim == plannerName && c.split != nil {
				continue // The scripted planner stands in there, and is no service of ours.
			}
			t.Run(c.name+"/"+victim, func(t *testing.T) { c.sweep(t, victim) })
		}
	}
}

func (c *scene) sweep(t *testing.T, victim string) {
	want, points := c.play(t, victim, 0)
	kinds := map[string]int{}
	for k := 1; k <= len(points); k++ {
		got, reached := c.play(t, victim, k)
		if len(reached) >= k {
			kinds[reached[k-1]]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("killed at boundary %d of %d (%v), the outcome differs (-want +got):\n%s", k, len(points), reached[len(reached)-1:], diff)
		}
	}
	total := 0
	for _, n := range kinds {
		total += n
	}
	t.Logf("%d points: %v", total, kinds)
	if total == 0 {
		t.Error("the sweep killed nothing")
	}
}

// play runs the scene with the victim killed at its nth boundary (0: never) and started anew; it gives the outcome and the
// boundaries that the first victim passed.
func (c *scene) play(t *testing.T, victim string, nth int) (outcome map[string]string, points []string) {
	virtual(t, func(s *system) {
		s.split = c.split
		var mu sync.Mutex
		dead := make(chan struct{})
		hook := func(point string) error {
			mu.Lock()
			defer mu.Unlock()
			if nth > 0 && len(points) >= nth {
				return errors.New("killed")
			}
			points = append(points, point)
			if len(points) == nth {
				close(dead)
				return errors.New("killed")
			}
			return nil
		}
		var first *service
		for _, name := range []string{schedulerName, plannerName, runnerName} {
			if name == victim {
				first = s.start(name, hook)
			} else {
				s.start(name, nil)
			}
		}
		over := make(chan struct{})
		finished := make(chan struct{})
		go func() { // Ends with the kill, or with the job.
			defer close(finished)
			select {
			case <-dead:
				s.die(first)
				s.start(victim, nil)
			case <-over:
				select {
				case <-dead:
					s.die(first)
				default:
				}
			}
		}()
		r := c.request
		r.ID, r.Goal = "j", c.name
		s.submit(r)
		if c.say != nil {
			s.await("j", "there is a "+string(c.on), func(e events.Event) bool { return e.Kind == c.on })
			c.say(s)
		}
		s.ended("j", c.end)
		s.settled("j")
		outcome = s.outcome("j")
		if c.loose {
			outcome = map[string]string{"job": outcome["job"]}
		}
		close(over)
		<-finished
		s.once(nth > 0 && victim == runnerName)
	})
	return outcome, points
}

// once checks that no finished call was made twice. The death of a runner may leave one call in doubt, which is declared
// safe to repeat.
func (s *system) once(doubt bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	repeated, allowed := 0, 0
	if doubt {
		allowed = 1
	}
	for call, n := range s.calls {
		repeated += n - 1
		if n > 1 && !doubt || n > 2 {
			s.t.Errorf("%s was made %d times", call, n)
		}
	}
	if repeated > allowed {
		s.t.Errorf("%d calls were repeated", repeated)
	}
}
