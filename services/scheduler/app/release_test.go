package app

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// The decision rules of the two releases in these tests.
const oldRules, newRules = events.RulesVersion - 1, events.RulesVersion

// forget is long enough for a scheduler that is gone to be forgotten.
const forget = 15 * time.Second

// rulesOf returns the version of the rules that decide a job.
func (w *workers) rulesOf(job string) int {
	w.Helper()
	e := musttest.Get(w.Bus.Log().LastOf(w.Context(), job, events.KindJobRequested))(w)
	return e.Data.(*events.JobRequested).Rules.Version
}

// run runs a job to its end.
func (w *workers) run(job string) {
	w.Helper()
	w.Submit(events.Request{ID: job, Goal: "g", Plan: diamond()})
	if end := w.Ended(job); end.Status != events.Finished {
		w.Errorf("%s: %+v", job, end)
	}
}

// leftAlone lists the jobs in quarantine.
func (w *workers) leftAlone() []string {
	w.Helper()
	found := musttest.Get(w.Bus.Streams().Survey(w.Context()))(w)
	return found.Quarantined
}

func TestAJobGetsRulesThatEveryLiveSchedulerKnows(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		older := w.schedule(Default(), Deps{Known: oldRules})
		w.run("alone")
		w.schedule(Default(), Deps{Known: newRules})
		<-time.After(time.Second)
		for i := range 40 { // The queue of requests gives some to each scheduler.
			job := fmt.Sprintf("beside-%d", i)
			w.run(job)
			if got := w.rulesOf(job); got != oldRules {
				t.Errorf("%s has rules %d beside a scheduler that knows %d", job, got, oldRules)
			}
		}
		if got := w.leftAlone(); len(got) > 0 {
			t.Errorf("in quarantine: %v", got)
		}
		if err := older.Stop(); err != nil {
			t.Error(err)
		}
		<-time.After(forget)
		w.run("after")
		if got := w.rulesOf("after"); got != newRules {
			t.Errorf("rules %d when the older scheduler is gone, want %d", got, newRules)
		}
	})
}

// The queue of requests is read before the scheduler has declared what it knows.
func TestARequestThatWaitedForTheFirstSchedulerGetsItsNewestRules(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		w := newWorkers(t, nil)
		w.Submit(events.Request{ID: "early", Goal: "g", Plan: diamond()})
		w.schedule(Default(), Deps{})
		if end := w.Ended("early"); end.Status != events.Finished {
			t.Errorf("%+v", end)
		}
		if got := w.rulesOf("early"); got != newRules {
			t.Errorf("rules %d, want %d", got, newRules)
		}
	})
}

// Before a rollback, one scheduler with the setting makes all of them give new jobs older rules, while jobs with newer rules
// continue.
func TestASchedulerThatIsToldSoHoldsTheRulesOfAllNewJobsDown(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		var goOn atomic.Bool
		w := newWorkers(t, func(work *events.Work) *events.SubJobReported {
			if work.Job == "before" && work.SubJob == "b" && !goOn.Load() {
				return nil // It will be delivered again.
			}
			return &events.SubJobReported{Outcome: events.Success}
		})
		first := w.schedule(Default(), Deps{})
		<-time.After(5 * time.Second) // It has found itself among the live schedulers.
		w.Submit(events.Request{ID: "before", Goal: "g", Plan: plan(sub("a"), sub("b", "a"))})
		<-time.After(time.Second)
		s := Default()
		s.Rules = oldRules
		w.schedule(s, Deps{})
		<-time.After(time.Second)
		w.run("between") // While the last reading still counts.
		<-time.After(5 * time.Second)
		w.run("again")
		<-time.After(time.Second)
		for i := range 20 {
			job := fmt.Sprintf("j%d", i)
			w.run(job)
			if got := w.rulesOf(job); got != oldRules {
				t.Errorf("%s has rules %d, want %d", job, got, oldRules)
			}
		}
		if err := first.Stop(); err != nil {
			t.Error(err)
		}
		goOn.Store(true)
		if end := w.Ended("before"); end.Status != events.Finished {
			t.Errorf("the job of newer rules: %+v", end)
		}
		if got := w.rulesOf("before"); got != newRules {
			t.Errorf("rules %d before, want %d", got, newRules)
		}
		if got := w.leftAlone(); len(got) > 0 {
			t.Errorf("in quarantine: %v", got)
		}
	})
}

// A saved state is not enough to continue a job whose decision rules are unknown here.
func TestAJobOfNewerRulesIsNotGoneOnWithFromItsSavedState(t *testing.T) {
	bustest.Virtual(t, func(t *testing.T) {
		hold := make(chan struct{})
		w := newWorkers(t, func(work *events.Work) *events.SubJobReported {
			if work.SubJob == "b" {
				<-hold
			}
			return &events.SubJobReported{Outcome: events.Success}
		})
		newer := w.schedule(Default(), Deps{Known: newRules})
		<-time.After(5 * time.Second)
		w.Submit(events.Request{ID: "j", Goal: "g", Plan: plan(sub("a"), sub("b", "a"))})
		<-time.After(5 * time.Second)
		if err := newer.Stop(); err != nil {
			t.Error(err)
		}
		w.schedule(Default(), Deps{Known: oldRules})
		close(hold)
		<-time.After(10 * time.Second)
		if got := w.leftAlone(); len(got) != 1 {
			t.Errorf("in quarantine: %v", got)
		}
	})
}

// A job that an older scheduler has left alone is resumed by one that understands it, when that one starts or when the older one
// goes, without a request.
func TestAJobThatWasLeftAloneIsTakenUpByWhoUnderstandsIt(t *testing.T) {
	for _, standsBy := range []bool{false, true} {
		t.Run(fmt.Sprintf("standing by %t", standsBy), func(t *testing.T) {
			bustest.Virtual(t, func(t *testing.T) {
				w := newWorkers(t, nil)
				first := w.schedule(Default(), Deps{Known: newRules})
				w.run("before")
				w.Submit(events.Request{ID: "other", Goal: "g", Plan: plan(sub("a"))})
				w.Ended("other")
				<-time.After(10 * time.Second) // Its end is acknowledged, or the older scheduler would get it and leave that job alone, too.
				if err := first.Stop(); err != nil {
					t.Error(err)
				}
				older := w.schedule(Default(), Deps{Known: oldRules})
				w.run("between")
				job := "j"
				s := Default()
				rules := s.rules()
				rules.Version = newRules
				w.Tell(events.Event{Kind: events.KindJobRequested, Job: job, Data: &events.JobRequested{ // From a newer scheduler that is gone by now.
					Request: events.Request{ID: job, Goal: "g", Plan: diamond()}, Rules: rules,
				}})
				<-time.After(time.Minute)
				if got := w.leftAlone(); !slices.Equal(got, []string{job}) {
					t.Fatalf("in quarantine: %v", got)
				}
				if standsBy {
					w.schedule(Default(), Deps{Known: newRules})
					<-time.After(100 * time.Millisecond)
				}
				if err := older.Stop(); err != nil {
					t.Error(err)
				}
				if !standsBy {
					w.schedule(Default(), Deps{Known: newRules})
				}
				if end := w.Ended(job); end.Status != events.Finished {
					t.Errorf("the end is %+v", end)
				}
				<-time.After(time.Second)
				if got := w.leftAlone(); len(got) > 0 {
					t.Errorf("in quarantine: %v", got)
				}
			})
		})
	}
}

// What this release does not understand is retried at growing intervals, since each attempt leaves an event in the log.
func TestAJobThatNobodyUnderstandsIsTriedMoreAndMoreRarely(t *testing.T) {
	var attempts tries
	now, count := time.Unix(0, 0), 0
	day := func(live string, jobs ...string) int {
		count = 0
		for range 24 * 60 {
			if now = now.Add(time.Minute); attempts.due(live, jobs, now) {
				count++
			}
		}
		return count
	}
	if got := day("a b", "j"); got < 8 || got > 14 {
		t.Errorf("%d attempts on the first day", got)
	}
	if got := day("a b", "j"); got != 4 {
		t.Errorf("%d attempts on the second day", got)
	}
	for _, c := range []struct {
		live string
		jobs []string
	}{{"a b c", []string{"j"}}, {"a b c", []string{"j", "k"}}} {
		if now = now.Add(time.Second); !attempts.due(c.live, c.jobs, now) {
			t.Errorf("not tried at once when %v and %v are new", c.live, c.jobs)
		}
	}
}
