package endtoend

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// Conformance C-T1: tagged JSON with three tasks inside prose gives three SubJobs and three edges.
//
// proves C-T1
// proves C1
func TestCT1TaggedPlanInProseRuns(t *testing.T) {
	virtual(t, func(s *system) {
		s.startAll()
		text := musttest.Get(json.Marshal(`I split the work. <decomposition>{
			"subtask_1":{"goal":"gen:","context":"c","completion_criteria":"d","dependencies":[],"assigned_expert":"worker","thinking":"t"},
			"subtask_2":{"goal":"double:","context":"c","completion_criteria":"d","dependencies":["subtask_1"],"assigned_expert":"worker","thinking":"t"},
			"subtask_3":{"goal":"sum:","context":"c","completion_criteria":"d","dependencies":["subtask_1","subtask_2"],"assigned_expert":"Worker","thinking":"t"}}
			</decomposition> That is all.`))(t)
		s.Submit(events.Request{ID: "ct1", Goal: "three tasks", Plan: text})
		end := s.EndedAs("ct1", events.Finished)
		if string(end.Result) != "[45]" {
			t.Errorf("result %s", end.Result)
		}
		s.settled("ct1")
		j := s.Folded("ct1")
		edges := 0
		for _, n := range j.View().SubJobs {
			edges += len(n.Deps)
		}
		if edges != 3 || j.Counts[events.Finished] != 3 {
			t.Errorf("%d edges, %v", edges, j.Counts)
		}
	})
}

// Conformance C-T3: outputs flow along the edges of a diamond with a tail; both number rows arrive; the sum is 65.
//
// proves C-T3
func TestCT3OutputsFlowAlongTheEdges(t *testing.T) {
	virtual(t, func(s *system) {
		s.startAll()
		s.Submit(events.Request{ID: "ct3", Goal: "numbers", Plan: plan(step("gen", "gen:"), step("double", "double:", "gen"), step("ten", "add ten:", "gen"),
			step("sum", "sum:", "ten"), step("format", "format:", "double", "ten"))})
		end := s.EndedAs("ct3", events.Finished)
		var result map[string]any
		if err := json.Unmarshal(end.Result, &result); err != nil {
			t.Fatalf("result %s: %v", end.Result, err)
		}
		want := map[string]any{"sum": []any{65.0}, "format": "format of 2 4 6 8 10 | 11 12 13 14 15"}
		if diff := cmp.Diff(want, result); diff != "" {
			t.Errorf("result (-want +got):\n%s", diff)
		}
		s.settled("ct3")
	})
}

// Chat2Graph needed 10 s for twenty levels of empty steps; here nothing waits for a timer.
//
// proves C-weakness-8
func TestTwentyLevelsTakeNoTurnOfAClock(t *testing.T) {
	virtual(t, func(s *system) {
		s.startAll()
		steps := []events.SubJob{step("s0", "gen:")}
		for i := 1; i < 20; i++ {
			steps = append(steps, step("s"+string(rune('a'+i)), "double:", steps[i-1].ID))
		}
		s.Submit(events.Request{ID: "deep", Goal: "chain", Plan: plan(steps...)})
		if end := s.EndedAs("deep", events.Finished); end.DurationMS > 1000 {
			t.Errorf("took %d ms", end.DurationMS)
		}
	})
}

// A hundred steps of ten milliseconds took Chat2Graph a second and a half; here they take only as many rounds as the
// runner's capacity requires.
//
// proves C-weakness-8-fan
func TestAHundredStepsAtOnceTakeNoTurnOfAClock(t *testing.T) {
	virtual(t, func(s *system) {
		s.experts = append(s.experts, s.expert("brief", true, func(ctx context.Context, _ *runner.Task) (events.SubJobReported, error) {
			select {
			case <-time.After(10 * time.Millisecond):
				return events.SubJobReported{Output: json.RawMessage(`[1]`)}, nil
			case <-ctx.Done():
				return events.SubJobReported{}, ctx.Err()
			}
		}))
		s.startAll()
		steps := []events.SubJob{step("first", "gen:")}
		last := step("last", "sum:")
		for i := range 100 {
			one := step(fmt.Sprint("s", i), "work", "first")
			one.Expert = "brief"
			steps, last.Dependencies = append(steps, one), append(last.Dependencies, one.ID)
		}
		size := len(steps) + 1
		s.Submit(events.Request{ID: "wide", Goal: "fan", Plan: plan(append(steps, last)...), Limits: events.Limits{MaxSteps: &size}})
		end := s.EndedAs("wide", events.Finished)
		if string(end.Result) != "[100]" || end.DurationMS > 100 { // Seven rounds of sixteen.
			t.Errorf("result %s after %d ms", end.Result, end.DurationMS)
		}
	})
}

// proves C21
func TestRetriesAcrossAnHourCostNoTime(t *testing.T) {
	virtual(t, func(s *system) {
		s.startAll()
		delay := events.Duration(20 * time.Minute)
		s.Submit(events.Request{ID: "slow", Goal: "g", Plan: plan(step("a", "fail:3")), Limits: events.Limits{RetryDelay: &delay}})
		end := s.EndedAs("slow", events.Finished)
		if hours := float64(end.DurationMS) / 3.6e6; hours < 0.9 || hours > 2.4 {
			t.Errorf("three retries with a doubling delay of twenty minutes took %.1f hours", hours)
		}
		s.settled("slow")
	})
}

// proves C-weakness-7
func TestADeadRunnersWorkIsTakenOverWhenItsLeaseEnds(t *testing.T) {
	virtual(t, func(s *system) {
		s.Patience = 10 * time.Minute
		s.start(schedulerName, nil)
		s.start(plannerName, nil)
		first := s.start(runnerName, nil)
		s.Submit(events.Request{ID: "lost", Goal: "g", Plan: plan(step("a", "hang:"))})
		s.Await(s.Names.JobEvents("lost"), func(e events.Event) bool { return e.Kind == events.KindSubJobStarted })
		first.Crash(first.bus)
		s.start(runnerName, nil)
		s.Await(s.Names.JobEvents("lost"), func() func(events.Event) bool {
			n := 0
			return func(e events.Event) bool {
				if e.Kind == events.KindSubJobStarted {
					n++
				}
				return n == 2
			}
		}())
		s.say("lost", events.KindStopRequested, "", &events.StopRequested{})
		s.EndedAs("lost", events.Stopped)
		s.settled("lost")
	})
}

// proves C-weakness-5
// proves C-weakness-issue-140
// proves C-weakness-issue-142
// proves C17
func TestStopAndRecoverInFlightLeaveOneExecution(t *testing.T) {
	virtual(t, func(s *system) {
		s.startAll()
		s.Submit(events.Request{ID: "sr", Goal: "g", Plan: plan(step("a", "gen:"), step("b", "hang:", "a"), step("c", "double:", "a"))})
		s.Await(s.Names.JobEvents("sr"), func(e events.Event) bool { return e.Kind == events.KindSubJobStarted && e.SubJob == "b" })
		s.say("sr", events.KindStopRequested, "", &events.StopRequested{Reason: "wait"})
		s.say("sr", events.KindRecoverRequested, "", &events.RecoverRequested{})
		s.Await(s.Names.JobEvents("sr"), func(e events.Event) bool {
			return e.Kind == events.KindSubJobStarted && e.SubJob == "b" && e.Run == 2
		})
		s.say("sr", events.KindStopRequested, "2", &events.StopRequested{})
		s.EndedAs("sr", events.Stopped)
		s.mu.Lock()
		defer s.mu.Unlock()
		for call, n := range s.calls {
			if n != 1 {
				t.Errorf("%s was made %d times", call, n)
			}
		}
	})
}

// A worker that ignores a stop keeps its run until its lease ends, before the step runs again, however soon the job is
// recovered. Its result is stored as late and replaces no other.
//
// proves C-weakness-5
// proves C-weakness-4-late
func TestAWorkerThatHearsNoStopIsTheOnlyOneAllTheSame(t *testing.T) {
	virtual(t, func(s *system) {
		var mu sync.Mutex // Guards the numbers below.
		begun, atWork, most := 0, 0, 0
		s.experts = append(s.experts, s.expert("deaf", false, func(context.Context, *runner.Task) (events.SubJobReported, error) {
			mu.Lock()
			begun++
			run := begun
			atWork++
			most = max(most, atWork)
			mu.Unlock()
			<-time.After(5 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			atWork--
			return events.SubJobReported{Output: json.RawMessage(fmt.Sprint(run))}, nil
		}))
		s.startAll()
		one := step("a", "work")
		one.Expert = "deaf"
		s.Submit(events.Request{ID: "deaf", Goal: "g", Plan: plan(one)})
		s.Await(s.Names.JobEvents("deaf"), func(e events.Event) bool { return e.Kind == events.KindSubJobStarted })
		s.say("deaf", events.KindStopRequested, "", &events.StopRequested{Reason: "wait"})
		s.say("deaf", events.KindRecoverRequested, "", &events.RecoverRequested{})
		if end := s.EndedAs("deaf", events.Finished); string(end.Result) != "2" {
			t.Errorf("result %s, want that of the second run", end.Result)
		}
		mu.Lock()
		defer mu.Unlock()
		if begun != 2 || most != 1 {
			t.Errorf("begun %d times, %d at once", begun, most)
		}
		first := ""
		s.Await(s.Names.JobEvents("deaf"), func(e events.Event) bool {
			if e.Kind != events.KindSubJobReported || e.Run != 1 {
				return false
			}
			first = string(e.Report().Output)
			return true
		})
		if late := s.Folded("deaf").View().SubJobs[1].Late; first != "1" || late == 0 {
			t.Errorf("the first run gave %q, kept as late at %d", first, late)
		}
		s.settled("deaf")
	})
}

// The work of a repeated run contains the reason: a successor's complaint, and the previous failure.
//
// proves C-weakness-2-lesson
func TestWhoeverRunsAgainIsToldWhy(t *testing.T) {
	virtual(t, func(s *system) {
		lessons := map[string][]string{} // Guarded by the system.
		s.experts = append(s.experts, s.expert("pupil", false, func(ctx context.Context, t *runner.Task) (events.SubJobReported, error) {
			s.mu.Lock()
			lessons[runOf(t.Work)] = t.Work.Lessons
			s.mu.Unlock()
			return s.act(ctx, t.Work)
		}))
		s.startAll()
		steps := []events.SubJob{step("a", "gen:"), step("b", "bad input:1", "a"), step("c", "fail:2", "b")}
		for i := range steps {
			steps[i].Expert = "pupil"
		}
		s.Submit(events.Request{ID: "why", Goal: "g", Plan: plan(steps...)})
		s.EndedAs("why", events.Finished)
		want := map[string][]string{
			"why/a/1": nil, "why/b/1": nil, "why/a/2": {"better data"}, "why/b/2": nil,
			"why/c/1": nil, "why/c/2": {"try again"}, "why/c/3": {"try again", "try again"},
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if diff := cmp.Diff(want, lessons); diff != "" {
			t.Errorf("lessons (-want +got):\n%s", diff)
		}
	})
}

// proves O-weakness-11
func TestAPersonIsAskedAndNothingHoldsTheWork(t *testing.T) {
	virtual(t, func(s *system) {
		s.startAll()
		s.Submit(events.Request{ID: "ask", Goal: "g", Plan: plan(step("a", "ask:"))})
		s.Await(s.Names.JobEvents("ask"), func(e events.Event) bool { return e.Kind == events.KindJobWaiting })
		<-time.After(time.Second) // Acknowledgements may be delayed for a moment.
		synctest.Wait()
		facts, err := s.Bus.Streams().Info(s.Context(), s.Names.Work)
		if err != nil || facts.Messages != 0 {
			t.Errorf("%d work messages are held (%v)", facts.Messages, err)
		}
		<-time.After(30 * time.Minute)
		s.say("ask", events.KindInputClosed, "q-a", &events.InputClosed{Action: events.Answered, Answer: json.RawMessage(`"that one"`)})
		if end := s.EndedAs("ask", events.Finished); string(end.Result) != `"that one"` {
			t.Errorf("result %s", end.Result)
		}
		s.settled("ask")
	})
}

// proves V5
func TestAGoalWithoutPlanAndModelIsAnsweredByGuidance(t *testing.T) {
	virtual(t, func(s *system) {
		s.startAll()
		s.Submit(events.Request{ID: "why", Goal: "make me happy"})
		end := s.EndedAs("why", events.Failed)
		if end.Error == nil || end.Error.Code != events.CodeNoPlanner || end.Error.Hint == "" {
			t.Errorf("error %+v", end.Error)
		}
	})
}

// proves C23
func TestASplitIsSplicedEndToEnd(t *testing.T) {
	virtual(t, func(s *system) {
		s.split = func(*events.Work) *events.Plan {
			one, two := step("one", "double:"), step("two", "add ten:")
			one.Pool, two.Pool = events.DefaultPool, events.DefaultPool
			return &events.Plan{SubJobs: []events.SubJob{one, two}}
		}
		s.startAll()
		s.Submit(events.Request{ID: "split", Goal: "g", Plan: plan(step("gen", "gen:"), step("big", "too complicated:", "gen"), step("end", "format:", "big"))})
		end := s.EndedAs("split", events.Finished)
		if string(end.Result) != `"end of "` && len(end.Result) == 0 {
			t.Errorf("result %s", end.Result)
		}
		s.settled("split")
	})
}
