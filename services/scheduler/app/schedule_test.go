package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/events/toolset"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// tell calls a verb about schedules, and returns the schedule or the faults.
func (w *workers) tell(verb string, request any) (schedule.State, events.Faults) {
	w.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), w.Patience)
	defer cancel()
	var answer []byte
	var fault *events.Fault
	musttest.Do(w, bus.Await(ctx, func() error { // A scheduler that crashes leaves questions without an answer.
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		answer, fault, err = w.Bus.Services().Request(ctx, w.Names.API("schedule."+verb), body)
		if fault != nil && fault.Code == events.CodeUnavailable {
			return bus.ErrUnavailable
		}
		return err
	}))
	var rejection events.Rejection
	var s schedule.State
	switch {
	case fault != nil && json.Unmarshal(answer, &rejection) == nil && len(rejection.Faults) > 0:
		return s, rejection.Faults
	case fault != nil:
		return s, events.Faults{*fault}
	}
	musttest.Decode(w, answer, &s)
	return s, nil
}

// must is tell for calls that must succeed.
func (w *workers) must(verb string, request any) schedule.State {
	w.Helper()
	s, faults := w.tell(verb, request)
	if len(faults) > 0 {
		w.Fatalf("%s: %v", verb, faults)
	}
	return s
}

func id(name string) map[string]string { return map[string]string{"id": name} }

// repeating returns the creation of a schedule "s" for the one-step job "a".
func repeating(s schedule.Spec) any {
	s.Request = events.Request{Goal: "g", Plan: plan(sub("a"))}
	return struct {
		ID string `json:"id"`
		schedule.Spec
	}{"s", s}
}

func minutes(n int) events.Schedule { return events.Schedule{IntervalMinutes: n} }

// quiet waits until nothing of the schedule is in progress; time passes by itself in a bubble.
func (w *workers) quiet(done func(s *schedule.State) bool) schedule.State {
	w.Helper()
	for range 400 {
		s := w.must("get", id("s"))
		live := slices.ContainsFunc(s.Recent, func(r schedule.Run) bool { return !r.Status.Over() })
		if !live && done(&s) {
			return s
		}
		<-time.After(20 * time.Second)
	}
	s := w.must("get", id("s"))
	w.Fatalf("the schedule does not get there: %s, %d runs, %v", s.Status, s.Runs, statuses(&s))
	return s
}

// jobs lists the jobs in the log with the status of their end, which each has once.
func (w *workers) jobs() map[string]events.Status {
	w.Helper()
	jobs := map[string]events.Status{}
	facts := musttest.Get(w.Bus.Streams().Subjects(w.Context(), w.Names.Log, w.Names.AllEvents()))(w)
	for subject := range facts {
		if at, ok := w.Names.Parse(subject); ok && at.Kind == events.KindJobRequested {
			jobs[at.Job] = w.Ended(at.Job).Status
		}
	}
	return jobs
}

func statuses(s *schedule.State) []string {
	var list []string
	for _, r := range s.Recent {
		list = append(list, string(r.Status))
	}
	return list
}

// The duration of a run does not delay later due times.
// proves V-weakness-9-drift
func TestAScheduleMakesAsManyJobsAsItHasMoments(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, func(*events.Work) *events.SubJobReported {
			<-time.After(5 * time.Second)
			return &events.SubJobReported{Outcome: events.Success, Output: json.RawMessage(`"a"`)}
		})
		w.schedule(Default(), Deps{})
		made := w.must("create", repeating(schedule.Spec{When: minutes(1), MaxRuns: 80}))
		s := w.quiet(func(s *schedule.State) bool { return s.Status == schedule.Done })
		want := map[string]events.Status{}
		for n := range 80 {
			due := made.Created.Truncate(time.Second).Add(time.Duration(n+1) * time.Minute)
			want[schedule.JobID("s", schedule.Key(due))] = events.Finished
		}
		if diff := cmp.Diff(want, w.jobs()); diff != "" {
			t.Errorf("jobs (-want +got):\n%s", diff)
		}
		if s.Runs != 80 || s.Skipped != 0 || len(s.Recent) != schedule.MaxRecent || s.Reason == "" {
			t.Errorf("%d runs, %d skipped, %d kept, %q", s.Runs, s.Skipped, len(s.Recent), s.Reason)
		}
		last := s.Recent[len(s.Recent)-1]
		if string(last.Result) != `"a"` || last.DurationMS < 0 || last.Ended.IsZero() || last.Started.Before(last.Due) {
			t.Errorf("last run: %+v", last)
		}
		facts, err := w.Bus.Streams().Info(t.Context(), w.Bus.Schedules().Names().Stream())
		if err != nil || facts.Messages > 205 {
			t.Errorf("%d facts are kept of 3 × 80, %v", facts.Messages, err)
		}
	})
}

// proves V-weakness-9-overlap
// proves V-weakness-issue-433
// proves V21
func TestWhatASchedulerMissedIsMadeUpForAsTheScheduleSays(t *testing.T) {
	for _, c := range []struct {
		missed        schedule.Missed
		runs, skipped int
	}{{schedule.MissedOne, 1, 5}, {schedule.MissedSkip, 0, 6}, {schedule.MissedAll, 6, 0}} {
		t.Run(string(c.missed), func(t *testing.T) {
			bustest.Virtual(t, func(t *testing.T) {
				w := newWorkers(t, nil)
				scheduler := w.schedule(Default(), Deps{})
				made := w.must("create", repeating(schedule.Spec{When: minutes(2), Missed: c.missed, MaxRuns: c.runs + 1}))
				if err := scheduler.Stop(); err != nil {
					t.Error(err)
				}
				<-time.After(13 * time.Minute)
				w.schedule(Default(), Deps{})
				s := w.quiet(func(s *schedule.State) bool { return s.Status == schedule.Done })
				if s.Runs != c.runs+1 || s.Skipped != c.skipped || len(w.jobs()) != c.runs+1 {
					t.Errorf("%d runs, %d skipped, jobs %v", s.Runs, s.Skipped, w.jobs())
				}
				if want := made.Created.Truncate(time.Second).Add(14 * time.Minute); !s.Last.Equal(want) {
					t.Errorf("the last moment is %s, want %s", s.Last, want)
				}
			})
		})
	}
}

// slow is a worker that never reports of the first run of a schedule.
func slow(w *workers, first *string) func(*events.Work) *events.SubJobReported {
	return func(work *events.Work) *events.SubJobReported {
		w.mu.Lock()
		defer w.mu.Unlock()
		if *first == "" {
			*first = work.Job
		}
		if work.Job == *first {
			return nil
		}
		return &events.SubJobReported{Outcome: events.Success}
	}
}

// proves V-weakness-9-overlap
func TestARunThatGoesOnIsMetAsTheScheduleSays(t *testing.T) {
	for _, c := range []struct {
		overlap schedule.Overlap
		want    []string
	}{
		{schedule.OverlapSkip, []string{"STOPPED", "skipped", "skipped", "FINISHED"}},
		{schedule.OverlapQueue, []string{"STOPPED", "FINISHED", "FINISHED", "FINISHED"}},
		{schedule.OverlapReplace, []string{"STOPPED", "FINISHED", "FINISHED", "FINISHED"}},
	} {
		t.Run(string(c.overlap), func(t *testing.T) {
			bustest.Virtual(t, func(t *testing.T) {
				w := newWorkers(t, nil)
				var first string
				w.script = slow(w, &first)
				w.schedule(Default(), Deps{})
				w.must("create", repeating(schedule.Spec{When: minutes(2), Overlap: c.overlap}))
				<-time.After(7 * time.Minute)
				if c.overlap != schedule.OverlapReplace {
					w.Tell(events.Event{Kind: events.KindStopRequested, Job: w.first(&first), Data: &events.StopRequested{Reason: "enough"}})
				}
				<-time.After(90 * time.Second)
				s := w.quiet(func(*schedule.State) bool { return true })
				if diff := cmp.Diff(c.want, statuses(&s)); diff != "" {
					t.Errorf("runs (-want +got):\n%s", diff)
				}
				for i := 1; i < len(s.Recent); i++ {
					before, r := s.Recent[i-1], s.Recent[i]
					if !r.Started.IsZero() && r.Started.Before(before.Ended) {
						t.Errorf("%s began at %s, before %s ended at %s", r.JobID, r.Started, before.JobID, before.Ended)
					}
				}
			})
		})
	}
}

func (w *workers) first(job *string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *job
}

// proves V-weakness-2
// proves V-weakness-issue-433
func TestFailedRunsPauseAScheduleOnlyWhenItSaysSo(t *testing.T) {
	for limit, want := range map[int]schedule.Status{0: schedule.Done, 2: schedule.Rests} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			bustest.Virtual(t, func(t *testing.T) {
				none := 0
				w := newWorkers(t, func(*events.Work) *events.SubJobReported {
					return &events.SubJobReported{Outcome: events.ExecutionError, Lesson: "no"}
				})
				w.schedule(Default(), Deps{})
				spec := schedule.Spec{When: minutes(1), MaxRuns: 4, MaxFailures: limit}
				spec.Request = events.Request{Goal: "g", Plan: plan(sub("a")), Limits: events.Limits{Retries: &none}}
				w.must("create", struct {
					ID string `json:"id"`
					schedule.Spec
				}{"s", spec})
				s := w.quiet(func(s *schedule.State) bool { return s.Status != schedule.Active })
				if s.Status != want || s.Failures != map[int]int{0: 4, 2: 2}[limit] || s.Recent[0].Error == nil {
					t.Errorf("%s (%s) after %d failures: %+v", s.Status, s.Reason, s.Failures, s.Recent)
				}
				if limit > 0 {
					if s = w.must("resume", id("s")); s.Status != schedule.Active || s.Failures != 0 || s.Next.IsZero() {
						t.Errorf("resumed: %+v", s)
					}
				}
			})
		})
	}
}

// proves V-weakness-9-pause
// proves F-weakness-issue-3892
// proves V-T12
func TestWordsToASchedule(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		w.schedule(Default(), Deps{})
		create := repeating(schedule.Spec{When: minutes(2)})
		w.must("create", create)
		if s := w.must("create", create); s.ID != "s" {
			t.Errorf("the same again: %+v", s)
		}
		code := func(f events.Faults) events.Code {
			if len(f) != 1 {
				return events.Code(f.Error())
			}
			return f[0].Code
		}
		if _, faults := w.tell("create", repeating(schedule.Spec{When: minutes(5)})); code(faults) != events.CodeConflict {
			t.Errorf("another under the same id: %v", faults)
		}
		if s := w.must("pause", map[string]string{"id": "s", "reason": "holidays"}); s.Status != schedule.Rests || s.Reason != "holidays" || !s.Next.IsZero() {
			t.Errorf("paused: %+v", s)
		}
		if _, faults := w.tell("pause", id("s")); code(faults) != events.CodeConflict {
			t.Errorf("paused twice: %v", faults)
		}
		<-time.After(5 * time.Minute)
		w.must("trigger", id("s"))
		s := w.quiet(func(s *schedule.State) bool { return len(s.Recent) > 0 })
		if diff := cmp.Diff([]string{"FINISHED"}, statuses(&s)); diff != "" || !s.Recent[0].Triggered || s.Runs != 0 {
			t.Errorf("a paused schedule ran %+v", s)
		}
		s = w.must("resume", id("s"))
		if s.Next.Before(time.Now()) || time.Until(s.Next) > 2*time.Minute {
			t.Errorf("it goes on at %s", s.Next)
		}
		if _, faults := w.tell("resume", id("s")); code(faults) != events.CodeConflict {
			t.Errorf("resumed twice: %v", faults)
		}
		jobs := w.jobs()
		w.must("delete", id("s"))
		if _, faults := w.tell("get", id("s")); code(faults) != events.CodeNotFound {
			t.Errorf("deleted: %v", faults)
		}
		if _, faults := w.tell("trigger", id("s")); code(faults) != events.CodeNotFound {
			t.Errorf("a deleted one: %v", faults)
		}
		<-time.After(5 * time.Minute)
		if diff := cmp.Diff(jobs, w.jobs()); diff != "" {
			t.Errorf("jobs of a deleted schedule (-before +behind):\n%s", diff)
		}
		if last, err := w.Bus.Schedules().Last(t.Context()); err != nil || last != 0 {
			t.Errorf("%d is left of it, %v", last, err)
		}
		w.must("create", repeating(schedule.Spec{When: minutes(1), MaxRuns: 1}))
		w.quiet(func(s *schedule.State) bool { return s.Status == schedule.Done })
	})
}

func TestEveryFaultOfACreationIsToldAtOnce(t *testing.T) {
	w := newWorkers(t, nil)
	w.schedule(Default(), Deps{})
	_, faults := w.tell("create", map[string]any{
		"id": "not an id", "schedule": map[string]any{"cron": "* * *", "timezone": "Mars"}, "overlap": "maybe", "missed": "who knows", "max_runs": -1,
		"max_failures": -1, "jitter": "48h", "request": map[string]any{"id": "x", "goals": "typo", "failure_policy": "shrug", "attachments": []any{map[string]any{"digest": "d"}}},
	})
	fields := map[string]bool{}
	for _, f := range faults {
		fields[f.Field] = true
		if f.Message == "" {
			t.Errorf("%s says nothing", f.Field)
		}
	}
	want := []string{
		"id", "jitter", "max_failures", "max_runs", "missed", "overlap", "request.attachments", "request.failure_policy", "request.goal", "request.goals", "request.id", "schedule.cron", "schedule.timezone",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(fields))); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestTwoSchedulersRunAScheduleOnce(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		w.schedule(Default(), Deps{})
		w.schedule(Default(), Deps{})
		w.must("create", repeating(schedule.Spec{When: minutes(1), MaxRuns: 12}))
		s := w.quiet(func(s *schedule.State) bool { return s.Status == schedule.Done })
		if s.Runs != 12 || s.Skipped != 0 || len(w.jobs()) != 12 {
			t.Errorf("%d runs, %d skipped, %d jobs", s.Runs, s.Skipped, len(w.jobs()))
		}
	})
}

// proves V-weakness-issue-433
func TestARunThatIsRefusedIsAFailedOne(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		w.schedule(Default(), Deps{})
		w.Submit(events.Request{ID: "other", Goal: "g", Session: "talk", User: "ann", Plan: plan(sub("a"))})
		w.Ended("other")
		spec := schedule.Spec{When: minutes(1), MaxFailures: 1}
		spec.Request = events.Request{Goal: "g", Session: "talk", User: "bob", Plan: plan(sub("a"))}
		w.must("create", struct {
			ID string `json:"id"`
			schedule.Spec
		}{"s", spec})
		s := w.quiet(func(s *schedule.State) bool { return s.Status != schedule.Active })
		if s.Status != schedule.Rests || len(s.Recent) != 1 || s.Recent[0].Status != schedule.RunRefused || !strings.Contains(s.Recent[0].Error.Message, "another user") {
			t.Errorf("%+v", s)
		}
	})
}

// proves V20
func TestARequestThatRecursIsASchedule(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		w.schedule(Default(), Deps{})
		every := minutes(2)
		for range 2 { // A repeat is the same schedule.
			w.Submit(events.Request{ID: "s", Goal: "g", Plan: plan(sub("a")), Schedule: &every})
		}
		w.Submit(events.Request{ID: "once", Goal: "g", Plan: plan(sub("a")), Schedule: &events.Schedule{Pattern: "once"}})
		if end := w.Ended("once"); end.Status != events.Finished {
			t.Errorf("what runs once and now: %+v", end)
		}
		<-time.After(5 * time.Minute)
		s := w.quiet(func(*schedule.State) bool { return true })
		if diff := cmp.Diff([]string{"FINISHED", "FINISHED"}, statuses(&s)); diff != "" || s.Digest == "" {
			t.Errorf("runs (-want +got):\n%s", diff)
		}
		if _, made := w.jobs()["s"]; made {
			t.Error("the request is a job, too")
		}
		for _, r := range s.Recent {
			e := musttest.Get(w.Bus.Log().LastOf(t.Context(), r.JobID, events.KindJobRequested))(t)
			if alone := e.Data.(*events.JobRequested).Request.Unattended; alone == nil || !*alone {
				t.Errorf("run %s may wait for a person", r.JobID)
			}
		}
		asked := s.Spec
		asked.Request.Unattended = nil
		body, err := json.Marshal(&asked)
		if sum := sha256.Sum256(body); err != nil || s.Digest != hex.EncodeToString(sum[:]) {
			t.Errorf("the digest is not that of what was asked: a schedule of an earlier release would be another one; %v", err)
		}
	})
}

// proves V-T12
func TestAStepThatRecursIsDoneWithItsScheduleAndItsRunsAreCollected(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		w.schedule(Default(), Deps{})
		step := sub("watch")
		step.Title, step.Goal, step.Pool, step.Pure = "Prices", "look at prices", schedule.Pool, false
		step.Schedule = &events.Schedule{Pattern: "recurring", IntervalMinutes: 2}
		offline := false
		w.Submit(events.Request{ID: "j", Goal: "g", Session: "talk", User: "ann", Plan: plan(sub("a"), step), Tools: toolset.Change{Web: &offline}})
		end := w.Ended("j")
		var result struct {
			Watch struct {
				ScheduleID string    `json:"schedule_id"`
				Title      string    `json:"title"`
				Next       time.Time `json:"next"`
			} `json:"watch"`
		}
		if err := json.Unmarshal(end.Result, &result); err != nil || end.Status != events.Finished {
			t.Fatalf("the job ends before the first run: %+v, %v", end, err)
		}
		if result.Watch.ScheduleID != "j-watch" || result.Watch.Title != "Prices" || result.Watch.Next.Before(time.Now()) {
			t.Errorf("the step tells %s", end.Result)
		}
		<-time.After(5 * time.Minute)
		s := w.must("get", id("j-watch"))
		if diff := cmp.Diff([]string{"FINISHED", "FINISHED"}, statuses(&s)); diff != "" || s.By != "j/watch" || s.Request.Session != "talk" || s.Request.User != "ann" || !s.Request.Tools.Offline() {
			t.Errorf("%+v (-want +got):\n%s", s, diff)
		}
		for _, r := range s.Recent {
			if string(r.Result) != `"whole"` || r.Ended.IsZero() || w.Ended(r.JobID).Status != events.Finished {
				t.Errorf("run %+v", r)
			}
		}
		w.Submit(events.Request{ID: s.Recent[0].JobID + "-t1", Goal: "g", Plan: plan(step)}) // Some job of that form.
		if end := w.Ended(s.Recent[0].JobID + "-t1"); end.Status != events.Finished {
			t.Errorf("a job that only looks like a run: %+v", end)
		}
		none := 0
		w.must("create", struct {
			ID string `json:"id"`
			schedule.Spec
		}{"more", schedule.Spec{When: minutes(60), Request: events.Request{Goal: "g", Plan: plan(step), Limits: events.Limits{Retries: &none}}}})
		more := w.must("trigger", id("more"))
		if end := w.Ended(more.Recent[0].JobID); end.Status != events.Failed || !strings.Contains(end.Error.Error(), "no further schedule") {
			t.Errorf("a run that makes a schedule: %+v", end)
		}
	})
}
