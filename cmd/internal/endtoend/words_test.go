package endtoend

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
	"github.com/jobgraph/jobgraph/services/planner/app"
)

// voice is a model that takes a second for its answer, or fails. It records its prompts.
type voice struct {
	says string
	err  error

	mu   sync.Mutex // Guards told and cut.
	told []string
	cut  int // Calls that were cancelled.
}

func (v *voice) Do(ctx context.Context, r llm.Request, _ func(llm.Delta)) (llm.Response, error) {
	v.mu.Lock()
	v.told = append(v.told, r.Messages[len(r.Messages)-1].Text())
	v.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		v.mu.Lock()
		v.cut++
		v.mu.Unlock()
		return llm.Response{}, ctx.Err()
	}
	return llm.Response{Text: v.says, Model: "scripted"}, v.err
}

// words waits for the end of a job and returns its summary.
func (s *system) words(job string) string {
	s.Helper()
	end := s.EndedAs(job, events.Finished)
	var text string
	if err := json.Unmarshal(end.Result, &text); err != nil {
		s.Fatalf("the result is no text: %s", end.Result)
	}
	s.settled(job)
	return text
}

// writer is the default expert, which writes instead of a model; f makes its answer.
func (s *system) writer(f func(w *events.Work) events.SubJobReported) {
	card := events.Card{ID: "writer", Name: "Writer", Tags: []string{"default"}}
	s.experts = append(s.experts, runner.Function{Card: card, Run: func(_ context.Context, t *runner.Task) (events.SubJobReported, error) {
		return f(t.Work), nil
	}})
}

// startKnown starts one of each service, the planner once the expert is announced: the stand-in is chosen with the plan.
func (s *system) startKnown(expert string) {
	s.Helper()
	s.start(schedulerName, nil)
	s.start(runnerName, nil)
	for wait := time.Millisecond; ; wait *= 2 {
		if _, _, err := s.Bus.Experts().Get(s.Context(), expert); err == nil {
			break
		}
		if wait > s.Patience {
			s.Fatalf("%s is not announced", expert)
		}
		<-time.After(wait)
	}
	s.start(plannerName, nil)
}

func twoSteps(id, profile string) events.Request {
	return events.Request{ID: id, Goal: "sum it up", Profile: profile, Plan: plan(step("gen", "gen:"), step("sum", "sum:", "gen"))}
}

// proves O-T1
// proves C28
func TestOT1TwoStepsEndWithTheirSummaryWithoutAnybodyAsking(t *testing.T) {
	virtual(t, func(s *system) {
		v := &voice{says: "One to five."}
		s.model = v
		s.startAll()
		s.Submit(twoSteps("two", "steps"))
		if got := s.words("two"); !strings.HasSuffix(got, "Plan completed:\n\nOne to five.") {
			t.Errorf("%q", got)
		}
		for _, id := range []string{"gen", "sum"} {
			if s.outcome("two")[id] != string(events.Finished) || !strings.Contains(v.told[0], id) {
				t.Errorf("%v, told %q", s.outcome("two"), v.told)
			}
		}
		if !strings.Contains(v.told[0], "[1,2,3,4,5]") {
			t.Errorf("the results were not told: %s", v.told[0])
		}
	})
}

// proves O-T11
func TestOT11WithoutAModelTheStandInWritesAndWithoutThatTheWordsAreFixed(t *testing.T) {
	away := &llm.Error{Class: llm.Auth}
	virtual(t, func(s *system) {
		s.model = &voice{err: away}
		s.writer(func(w *events.Work) events.SubJobReported {
			if w.Kind != events.WorkFinalize || !strings.Contains(w.Goal, "closing words") || w.Context != "sum it up" || len(w.Results) != 2 {
				t.Errorf("%+v", w)
			}
			return events.SubJobReported{Output: json.RawMessage(`"By hand."`)}
		})
		s.startKnown("writer")
		s.Submit(twoSteps("hand", "steps"))
		if got := s.words("hand"); got != "Plan completed:\n\nBy hand." {
			t.Errorf("%q", got)
		}
	})
	virtual(t, func(s *system) {
		s.model = &voice{err: away}
		s.writer(func(*events.Work) events.SubJobReported { return events.SubJobReported{Outcome: events.ExecutionError} })
		s.startKnown("writer")
		s.Submit(twoSteps("fixed", "steps"))
		if got := s.words("fixed"); !strings.HasPrefix(got, "Plan completed. No summary could be written") || !strings.HasSuffix(got, "sum::\n[15]") {
			t.Errorf("%q", got)
		}
	})
	virtual(t, func(s *system) {
		s.startAll()
		s.Submit(twoSteps("plain", "research"))
		if got := s.words("plain"); !strings.Contains(got, "No report could be written: there is no model") || !strings.Contains(got, "[1,2,3,4,5]") {
			t.Errorf("%q", got)
		}
	})
}

func TestAFailedJobKeepsWhatItHadAndNobodyWritesAboutIt(t *testing.T) {
	virtual(t, func(s *system) {
		v := &voice{says: "never"}
		s.model = v
		s.startAll()
		r := twoSteps("half", "research")
		none := 0
		r.Limits.Retries, r.Plan = &none, plan(step("gen", "gen:"), step("bad", "fail: 9", "gen"))
		s.Submit(r)
		if end := s.EndedAs("half", events.Failed); string(end.Result) != "[1,2,3,4,5]" || len(v.told) != 0 {
			t.Errorf("%s, told %q", end.Result, v.told)
		}
	})
}

func TestAPlannerThatDiesAmidstTheWordsAsksForNoneTwice(t *testing.T) {
	for _, point := range app.Points() {
		virtual(t, func(s *system) {
			v := &voice{says: "One to five."}
			s.model = v
			killed := errors.New("killed")
			s.start(schedulerName, nil)
			s.start(runnerName, nil)
			calm := s.start(plannerName, nil)
			r := twoSteps("die", "steps")
			r.Plan = plan(step("gen", "gen:"), step("sum", "slow:", "gen"))
			s.Submit(r)
			s.Await(s.Names.JobEvents("die"), func(e events.Event) bool { return e.Kind == events.KindSubJobReported })
			if err := calm.Stop(); err != nil {
				s.Error(err)
			}
			first := s.start(plannerName, func(at string) error {
				if at == point {
					return killed
				}
				return nil
			})
			s.Await(s.Names.JobEvents("die"), func(e events.Event) bool { return e.Kind == events.KindJobFinalizing })
			<-time.After(5 * time.Second)
			if err := first.Stop(); err != nil && !errors.Is(err, killed) {
				t.Errorf("%s: it ended with %v", point, err)
			}
			s.start(plannerName, nil)
			if got := s.words("die"); got != "Plan completed:\n\nOne to five." {
				t.Errorf("%s: %q", point, got)
			}
			want := 1
			if point == "answered" {
				want = 2 // The one in progress.
			}
			if len(v.told) != want {
				t.Errorf("killed at %s: asked %d times, want %d", point, len(v.told), want)
			}
		})
	}
}

func TestAStopEndsTheWordsAtOnceAndARecoverGoesOn(t *testing.T) {
	virtual(t, func(s *system) {
		v := &voice{says: "One to five."}
		s.model = v
		s.startAll()
		s.Submit(twoSteps("halt", "steps"))
		s.Await(s.Names.JobEvents("halt"), func(e events.Event) bool { return e.Kind == events.KindJobFinalizing })
		<-time.After(500 * time.Millisecond)
		began := time.Now()
		s.say("halt", events.KindStopRequested, "1", &events.StopRequested{Reason: "enough"})
		end := s.EndedAs("halt", events.Stopped)
		<-time.After(100 * time.Millisecond)
		v.mu.Lock()
		cut := v.cut
		v.mu.Unlock()
		if took := time.Since(began); cut != 1 || took > time.Second || len(end.Result) == 0 {
			t.Errorf("%d calls were ended after %s; %s", cut, took, end.Result)
		}
		s.say("halt", events.KindRecoverRequested, "2", &events.RecoverRequested{})
		if got := s.words("halt"); got != "Plan completed:\n\nOne to five." {
			t.Errorf("%q", got)
		}
	})
}
