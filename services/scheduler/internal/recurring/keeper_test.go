package recurring_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/recurring"
)

// jobs records the jobs that a keeper submits, and answers as the test says.
type jobs struct {
	mu       sync.Mutex
	admitted []string    // The ids of the submitted jobs, repeats included.
	at       []time.Time // When each was submitted.
	stopped  []string
	missing  map[string]bool   // Jobs that no longer exist.
	admit    func(n int) error // Answers the nth request, from 0; nil admits all.
}

func (j *jobs) Admit(_ context.Context, request []byte) error {
	var r events.Request
	if err := json.Unmarshal(request, &r); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	n := len(j.admitted)
	j.admitted, j.at = append(j.admitted, r.ID), append(j.at, time.Now())
	if j.admit == nil {
		return nil
	}
	return j.admit(n)
}

func (j *jobs) Stop(_ context.Context, job, _, _ string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stopped = append(j.stopped, job)
	return nil
}

func (j *jobs) Exists(_ context.Context, run *events.Request) (bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Contains(j.admitted, run.ID) && !j.missing[run.ID], nil
}

func (j *jobs) Result(context.Context, string) (json.RawMessage, error) { return nil, nil }

// asked returns the ids of the submitted jobs.
func (j *jobs) asked() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.admitted)
}

// keeper is a running keeper.
type keeper struct {
	*recurring.Keeper
	ended  chan error
	cancel context.CancelFunc
	counts map[string]int // The outcomes of runs that it reported.
}

// stop ends the keeper and returns the error of Run.
func (k *keeper) stop() error {
	k.cancel()
	return <-k.ended
}

// keep starts a keeper over a bus; hook may be nil.
func keep(t *testing.T, b *bus.Bus, j *jobs, hook func(point string) error) *keeper {
	t.Helper()
	facts := musttest.Get(b.Schedules().Follow(t.Context()))(t)
	ctx, cancel := context.WithCancel(t.Context())
	k := &keeper{recurring.New(b.Schedules(), j, time.LoadLocation, slog.New(slog.DiscardHandler)), make(chan error, 1), cancel, map[string]int{}}
	var mu sync.Mutex
	k.Results, k.Hook, k.Count = j, hook, func(result string) {
		mu.Lock()
		defer mu.Unlock()
		k.counts[result]++
	}
	go func() {
		defer facts.Stop()
		k.ended <- k.Run(ctx, t.Context(), facts)
	}()
	return k
}

// bubble runs a test in virtual time with a separate broker.
func bubble(t *testing.T, f func(t *testing.T, b *bus.Bus)) {
	t.Helper()
	bustest.Outside(t)
	synctest.Test(t, func(t *testing.T) { f(t, bustest.Start(t, bustest.Settings{Quiet: true}).Bus("test")) })
}

// hourly is a schedule with a run each hour.
func hourly(s schedule.Spec) schedule.Creation {
	s.When, s.Request = events.Schedule{IntervalMinutes: 60}, events.Request{Goal: "count the boxes"}
	return schedule.Creation{Spec: s}
}

func create(t *testing.T, k *keeper, c schedule.Creation) *recurring.Info {
	t.Helper()
	return musttest.Get(k.Create(t.Context(), "s", c, ""))(t)
}

// after returns the schedule after this much time.
func after(t *testing.T, k *keeper, d time.Duration) *recurring.Info {
	t.Helper()
	<-time.After(d)
	return musttest.Get(k.Get(t.Context(), "s"))(t)
}

// dueIn returns the job of the run that is due this long after a schedule was created.
func dueIn(s *recurring.Info, d time.Duration) string {
	return schedule.JobID("s", schedule.Key(s.Created.Truncate(time.Second).Add(d)))
}

func TestTwoKeepersStateEachRunOnce(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.Bus) {
		j := &jobs{}
		first, second := keep(t, b, j, nil), keep(t, b, j, nil)
		made := create(t, first, hourly(schedule.Spec{Overlap: schedule.OverlapQueue, MaxRuns: 1}))
		info := after(t, second, 90*time.Minute)
		if len(info.Recent) != 1 || info.Recent[0].JobID != dueIn(made, time.Hour) {
			t.Errorf("runs: %+v", info.Recent)
		}
		asked := slices.Compact(j.asked())
		if d := cmp.Diff([]string{dueIn(made, time.Hour)}, asked); d != "" {
			t.Errorf("jobs (-want +got):\n%s", d)
		}
		musttest.Do(t, first.stop())
		musttest.Do(t, second.stop())
		if n := first.counts["started"] + second.counts["started"]; n != 1 {
			t.Errorf("the start of one run was stated %d times", n)
		}
	})
}

func TestAJobThatCannotBeAskedForIsTriedAgainAfterGrowingWaits(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.Bus) {
		j := &jobs{admit: func(n int) error {
			if n < 8 {
				return bus.ErrUnavailable
			}
			return nil
		}}
		k := keep(t, b, j, nil)
		create(t, k, hourly(schedule.Spec{MaxRuns: 1}))
		info := after(t, k, 2*time.Hour)
		if len(info.Recent) != 1 || info.Recent[0].Status.Over() {
			t.Errorf("runs: %+v", info.Recent)
		}
		musttest.Do(t, k.stop())
		var waits []time.Duration
		for i := range len(j.at) - 1 {
			waits = append(waits, j.at[i+1].Sub(j.at[i]).Truncate(time.Second))
		}
		want := []time.Duration{1, 2, 4, 8, 16, 30, 30, 30}
		for i := range want {
			want[i] *= time.Second
		}
		if d := cmp.Diff(want, waits); d != "" {
			t.Errorf("waits (-want +got):\n%s", d)
		}
	})
}

func TestARunWhoseJobIsRefusedHasFailedAndIsNotTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.Bus) {
		fault := events.Fault{Code: events.CodeInvalid, Field: "goal", Message: "no"}
		j := &jobs{admit: func(int) error { return events.Faults{fault} }}
		k := keep(t, b, j, nil)
		create(t, k, hourly(schedule.Spec{MaxRuns: 1}))
		info := after(t, k, 2*time.Hour)
		if len(info.Recent) != 1 || info.Recent[0].Status != schedule.RunRefused || info.Recent[0].Error.Message != "no" {
			t.Errorf("runs: %+v", info.Recent)
		}
		if len(j.asked()) != 1 {
			t.Errorf("asked for %v", j.asked())
		}
		musttest.Do(t, k.stop())
		if d := cmp.Diff(map[string]int{"refused": 1}, k.counts); d != "" {
			t.Errorf("outcomes (-want +got):\n%s", d)
		}
	})
}

// A run lasts until its job ends. A run whose job was deleted would last for ever, and hold up those after it.
func TestARunWhoseJobWasDeletedEndsAsStopped(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.Bus) {
		j := &jobs{missing: map[string]bool{}}
		k := keep(t, b, j, nil)
		made := create(t, k, hourly(schedule.Spec{MaxRuns: 2}))
		after(t, k, 90*time.Minute)
		j.mu.Lock()
		j.missing[dueIn(made, time.Hour)] = true
		j.mu.Unlock()
		info := after(t, k, 2*time.Hour)
		if len(info.Recent) < 2 || info.Recent[0].Status != schedule.RunStatus(events.Stopped) || info.Recent[0].Error.Code != events.CodeNotFound {
			t.Fatalf("runs: %+v", info.Recent)
		}
		musttest.Do(t, k.stop())
	})
}

func TestAKeeperThatDiesBetweenAJobAndItsFactLeavesTheRunToTheNext(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.Bus) {
		j, dead := &jobs{}, errors.New("dead")
		k := keep(t, b, j, func(point string) error {
			if point == recurring.AtStarted {
				return dead
			}
			return nil
		})
		made := create(t, k, hourly(schedule.Spec{MaxRuns: 1}))
		if err := <-k.ended; !errors.Is(err, dead) {
			t.Fatalf("Run: %v", err)
		}
		next := keep(t, b, j, nil)
		info := after(t, next, time.Minute)
		if len(info.Recent) != 1 || info.Recent[0].Status.Over() {
			t.Errorf("runs: %+v", info.Recent)
		}
		musttest.Do(t, next.stop())
		job := dueIn(made, time.Hour)
		if d := cmp.Diff([]string{job, job}, j.asked()); d != "" {
			t.Errorf("jobs (-want +got):\n%s", d)
		}
		if k.counts["started"] != 0 || next.counts["started"] != 1 {
			t.Errorf("outcomes %v, then %v", k.counts, next.counts)
		}
	})
}

func TestOneFactTakesThePlaceOfManyAndStandsForTheSameSchedule(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.Bus) {
		j := &jobs{admit: func(int) error { return events.Faults{{Code: events.CodeInvalid, Message: "no"}} }}
		k := keep(t, b, j, nil)
		c := hourly(schedule.Spec{})
		c.When.IntervalMinutes = 1
		create(t, k, c)
		before := after(t, k, 110*time.Minute)
		musttest.Do(t, k.stop())
		info, err := b.Streams().Info(t.Context(), b.Schedules().Names().Stream())
		if err != nil || info.Messages >= 200 || before.Runs < 109 {
			t.Fatalf("%d facts are kept of %d runs, %v", info.Messages, before.Runs, err)
		}
		next := keep(t, b, j, nil)
		got := after(t, next, 0)
		if d := cmp.Diff(before, got); d != "" {
			t.Errorf("what the next keeper reads (-before +after):\n%s", d)
		}
		musttest.Do(t, next.stop())
	})
}

func TestTheEndOfARunIsStatedOnceAndOtherJobsAreNone(t *testing.T) {
	bubble(t, func(t *testing.T, b *bus.Bus) {
		j := &jobs{}
		k := keep(t, b, j, nil)
		made := create(t, k, hourly(schedule.Spec{MaxRuns: 1}))
		after(t, k, 61*time.Minute)
		sub := musttest.Get(b.Queues().Consume(t.Context(), b.Queues().EndsConsumer()))(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- k.Ends(ctx, sub) }()
		run := dueIn(made, time.Hour)
		for _, job := range []string{run, "another", "other" + run} {
			m, err := events.Encode(b.Names(), events.Event{
				Kind: events.KindJobFinished, ID: job + "/end", Job: job, Source: "test", Data: &events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}, Result: json.RawMessage(`7`)},
			})
			if err == nil {
				_, err = b.Publish(t.Context(), m, bus.Expect{})
			}
			musttest.Do(t, err)
		}
		info := after(t, k, time.Minute)
		if len(info.Recent) != 1 || info.Recent[0].Status != schedule.RunStatus(events.Finished) || string(info.Recent[0].Result) != "7" {
			t.Errorf("runs: %+v", info.Recent)
		}
		cancel()
		musttest.Do(t, <-ended)
		sub.Stop()
		musttest.Do(t, k.stop())
		if d := cmp.Diff(map[string]int{"started": 1, string(events.Finished): 1}, k.counts); d != "" {
			t.Errorf("outcomes (-want +got):\n%s", d)
		}
	})
}
