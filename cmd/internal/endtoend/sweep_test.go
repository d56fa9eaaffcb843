//go:build sweep

package endtoend

import (
	"encoding/json"
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
	// on and say act once, when the log has an event of a kind.
	on  events.Kind
	say func(s *system)
	end events.Status
	// batches uses batches of work from the beginning.
	batches bool
	// loose compares only how the job ended: what else is running when a failure occurs depends on timing.
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
	paused := append([]events.SubJob(nil), fan...)
	paused[0].Goal = "pause:" // Until batches are known to be accepted.
	flaky := append([]events.SubJob(nil), paused...)
	flaky[2].Goal, flaky[5].Goal = "fail:1", "fail:1"
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
	pure := append([]events.SubJob(nil), diamond...)
	for i := range pure {
		pure[i].Expert = "pure"
	}
	pure[1].Goal = "slow:"
	quick := events.Limits{RetryDelay: ms(20)}
	return []scene{
		{name: "chain", request: events.Request{Plan: plan(step("a", "gen:"), step("b", "double:", "a"), step("c", "sum:", "b"))}, end: events.Finished},
		{name: "diamond", request: events.Request{Plan: plan(diamond...)}, end: events.Finished},
		{name: "pure", request: events.Request{Plan: plan(pure...)}, end: events.Finished},
		{name: "fan", request: events.Request{Plan: plan(fan...)}, end: events.Finished},
		{name: "batches", request: events.Request{Plan: plan(paused...)}, end: events.Finished, batches: true},
		{name: "batches of retries", request: events.Request{Plan: plan(flaky...), Limits: quick}, end: events.Finished, batches: true},
		{
			name: "batches stopped", request: events.Request{Plan: plan(paused...)}, end: events.Finished, on: events.KindSubJobReported, batches: true,
			say: func(s *system) {
				s.say("j", events.KindStopRequested, "1", &events.StopRequested{})
				s.say("j", events.KindRecoverRequested, "1", &events.RecoverRequested{})
			},
		},
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
// repeated, no event is lost.
//
// proves C19
// proves F16
// proves F-T11
func TestCrashSweep(t *testing.T) {
	for _, c := range scenes() {
		for _, victim := range []string{schedulerName, plannerName, runnerName} {
			if victim == plannerName && (c.split != nil || c.batches) {
				continue // The scripted planner is not one of our services, and batches do not concern it.
			}
			t.Run(c.name+"/"+victim, func(t *testing.T) {
				calm := c.play(t, play{victim: victim})
				for _, fault := range calm.faults {
					t.Errorf("killed nowhere: %s", fault)
				}
				kinds := map[string]int{}
				total := 0
				for k := 1; k <= len(calm.points); k++ {
					got := c.play(t, play{victim: victim, nth: k})
					if len(got.points) >= k {
						kinds[got.points[k-1]]++
						total++
					}
					if faults := got.against(calm); len(faults) > 0 {
						t.Fatalf("killed at boundary %d of %d (%v): %s", k, len(calm.points), got.points[len(got.points)-1:], faults)
					}
				}
				t.Logf("%d points: %v", total, kinds)
				if total == 0 {
					t.Error("the sweep killed nothing")
				}
			})
		}
	}
}

// against returns what is wrong with a play, compared with one without a crash.
func (got *played) against(calm *played) []string {
	faults := got.faults
	if diff := cmp.Diff(calm.outcome, got.outcome); diff != "" {
		faults = append(faults, "the outcome differs (-want +got):\n"+diff)
	}
	return faults
}
