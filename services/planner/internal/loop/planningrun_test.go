package loop

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	jobrun "github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// readText accepts a text that is completely JSON.
func readText(text string, want *planning.Wanted) (json.RawMessage, error) {
	if raw := json.RawMessage(text); json.Valid(raw) && want.Fits(raw) {
		return raw, nil
	}
	return nil, errors.New("no JSON")
}

// pending is a write that happens when it is awaited.
type pending func(ctx context.Context) (uint64, error)

func (p pending) Wait(ctx context.Context) (uint64, error) { return p(ctx) }

// free reports whether another planner could take the run.
func (w *ports) free(t *testing.T) error {
	l := New(Settings{Journal: w, Owner: "other"})
	_, a, err := lease.Admit(t.Context(), w, l.claimant(&events.Work{Run: 1}))
	return errors.Join(err, refused(a))
}

// tongue is a model that always gives the same answer. It counts its calls, and may take time or ask for a later call.
type tongue struct {
	says  string
	calls int
	takes time.Duration
	off   error
	keys  map[string]bool
	heard string // The last prompt.
	costs float64
}

func (m *tongue) Name(*events.Request) string { return "tongue" }

func (m *tongue) Ask(ctx context.Context, q *Question) (planning.Fact, error) {
	c, key := q.Call, q.IdempotencyKey
	m.heard = c.Messages[len(c.Messages)-1].Text
	if m.keys == nil {
		m.keys = map[string]bool{}
	}
	m.keys[key] = true
	m.calls++
	if err := lease.Pause(ctx, m.takes); err != nil {
		return planning.Fact{}, err
	}
	return planning.Fact{Kind: planning.Answered, Text: m.says, Spent: events.Spent{Tokens: 10, CostUSD: m.costs}}, m.off
}

// goal is planning work without a plan.
func goal() events.Work {
	return events.Work{
		Kind: events.WorkPlan, Job: "j", SubJob: events.PlanID, Run: 1, MaxSteps: 100, Lease: events.Duration(30 * time.Second),
		Request: &events.Request{Goal: "g"}, IdempotencyKey: "j/~plan/1",
	}
}

func TestAGoalBecomesAGraphByAModelAndWhatItCostIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		w.model = &tongue{says: onePlan}
		musttest.Do(t, w.run(t, nil, w.delivery(t, goal())))
		check(t, w, "tell subjob.progressed j/~plan/1", "state graph.created j/~plan/1", "ack", `counted "graph.created" repeated false`, "drained")
		if d := w.facts[0].Data.(*events.GraphCreated); d.Tokens != 10 || d.Plan.SubJobs[0].Expert != "x" {
			t.Errorf("%+v", d)
		}
	})
}

// What the job may still spend bounds the calls of a planning run, like those of an agent: the answer that uses it up is the last one.
func TestPlanningEndsWhenTheBudgetIsUsedUp(t *testing.T) {
	for name, test := range map[string]struct {
		left  events.Spent
		says  string
		calls int
		code  events.Code
	}{
		"tokens":                 {events.Spent{Tokens: 10}, "I would rather not.", 1, events.CodeBudget},
		"cost":                   {events.Spent{CostUSD: 0.5}, "I would rather not.", 1, events.CodeBudget},
		"more than that":         {events.Spent{Tokens: 11, CostUSD: 0.6}, "I would rather not.", 2, events.CodeMalformed},
		"no limit":               {events.Spent{}, "I would rather not.", 2, events.CodeMalformed},
		"used up by a good plan": {events.Spent{Tokens: 1}, onePlan, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newPorts("x")
				m := &tongue{says: test.says, costs: 0.5}
				w.model = m
				work := goal()
				work.Budget = test.left
				musttest.Do(t, w.run(t, nil, w.delivery(t, work)))
				var code events.Code
				spent := events.Spent{}
				switch d := w.facts[0].Data.(type) {
				case *events.PlanRejected:
					code, spent = d.Faults[0].Code, d.Spent
				case *events.GraphCreated:
					spent = d.Spent
				}
				if m.calls != test.calls || code != test.code || spent.Tokens != int64(10*test.calls) {
					t.Errorf("%d calls, %s, %+v", m.calls, code, spent)
				}
			})
		})
	}
}

func TestAModelThatAlwaysTalksNonsenseEndsInARejectionThatKeepsTheText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		m := &tongue{says: "I would rather not."}
		w.model = m
		musttest.Do(t, w.run(t, nil, w.delivery(t, goal())))
		d := w.facts[0].Data.(*events.PlanRejected)
		if m.calls != 2 || d.Tokens != 20 || d.Faults[0].RawRef == nil || string(w.blobs["digest"]) != m.says {
			t.Errorf("%d calls, %+v", m.calls, d)
		}
	})
}

func TestAFinishedCallIsNotMadeAgainAfterACrashAtAnyPoint(t *testing.T) {
	for _, point := range []Point{AtTaken, AtClaim, AtIntent, AtAnswered, AtKept, AtPublish, AtPublished, AtAcked} {
		synctest.Test(t, func(t *testing.T) {
			w := newPorts("x")
			m := &tongue{says: onePlan}
			w.model = m
			w.dies(t, point, w.delivery(t, goal()))
			<-time.After(time.Minute) // In virtual time: the lease of the dead one passes.
			again := w.delivery(t, goal())
			again.Count = 2
			musttest.Do(t, w.run(t, nil, again))
			want := 1
			if point == AtAnswered {
				want = 2 // The call that was in progress.
			}
			if m.calls != want || len(m.keys) != 1 {
				t.Errorf("killed at %s: %d calls under %d keys, want %d", point, m.calls, len(m.keys), want)
			}
			for _, f := range w.facts {
				if f.Kind != events.KindGraphCreated {
					t.Errorf("killed at %s: %s", point, f.Kind)
				}
			}
		})
	}
}

func TestAPlanThatAPersonHasToSeeParksTheRunAndHisAnswerGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		m := &tongue{says: onePlan}
		w.model = m
		first := goal()
		no := false
		first.Request.AutoAccept = &no
		musttest.Do(t, w.run(t, nil, w.delivery(t, first)))
		ask, ok := w.facts[0].Data.(*events.InputRequested)
		if !ok || ask.Kind != events.InputReview || ask.Tokens != 10 {
			t.Fatalf("%+v", w.facts[0])
		}
		second := first
		second.Run, second.ResumeOf = 2, 1
		second.Answers = map[string]events.InputClosed{ask.Request: {Action: events.Answered, Answer: json.RawMessage(`"[ACCEPTED]"`), By: "me"}}
		d := w.delivery(t, second)
		d.Subject = strings.TrimSuffix(d.Subject, "1") + "2"
		musttest.Do(t, w.run(t, nil, d))
		last := w.facts[len(w.facts)-1]
		if m.calls != 1 || last.Kind != events.KindGraphCreated || last.Run != 2 || last.Data.(*events.GraphCreated).Tokens != 0 {
			t.Errorf("%d calls, %+v", m.calls, last)
		}
	})
}

func TestAClosedRunIsDroppedAndOneThatAnotherHoldsIsGivenBack(t *testing.T) {
	for name, entry := range map[string]jobrun.Entry{
		"ack": {JournalRecord: events.JournalRecord{Type: events.JournalClosed, Run: 1}},
		"nak 30s": {JournalRecord: events.JournalRecord{
			Type: events.JournalClaimed, Run: 1, Owner: "other", Lease: events.Duration(30 * time.Second),
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newPorts("x")
			m := &tongue{says: onePlan}
			w.model = m
			entry.Seq, entry.Time = 1, time.Now()
			w.Entries = []jobrun.Entry{entry}
			musttest.Do(t, w.run(t, nil, w.delivery(t, goal())))
			if all := strings.Join(w.lines, ","); m.calls != 0 || !strings.Contains(all, name) || len(w.facts) != 0 {
				t.Errorf("%d calls, %s", m.calls, all)
			}
		})
	}
}

func TestARunThatIsStoppedEndsItsCallAtOnceAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		w.model = &tongue{says: onePlan, takes: time.Hour}
		began := time.Now()
		musttest.Do(t, w.run(t, func() { w.loop.Cancel("j", "", 1, "enough") }, w.delivery(t, goal())))
		d, ok := w.facts[0].Data.(*events.PlanRejected)
		if !ok || d.Faults[0].Code != events.CodeCancelled || time.Since(began) > time.Second {
			t.Errorf("%+v after %s", w.facts[0], time.Since(began))
		}
	})
}

func TestARunThatIsStoppedTellsWhatItsFinishedCallsHaveCost(t *testing.T) {
	cancel := func(w *ports) { w.loop.Cancel("j", "", 1, "enough") }
	for name, stop := range map[string]func(w *ports) (during func()){
		"in the next call": func(w *ports) func() {
			return func() {
				<-time.After(1500 * time.Millisecond) // The first call takes a second.
				cancel(w)
			}
		},
		"before the answer is kept": func(w *ports) func() {
			w.hook = func(p Point) error {
				if p == AtAnswered {
					cancel(w)
				}
				return nil
			}
			return func() { <-time.After(2 * time.Second) }
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newPorts("x")
			w.model = &tongue{says: "I would rather not.", takes: time.Second}
			musttest.Do(t, w.run(t, stop(w), w.delivery(t, goal())))
			d := w.facts[0].Data.(*events.PlanRejected)
			if diff := cmp.Diff(events.Spent{Tokens: 10}, d.Spent); diff != "" || d.Faults[0].Code != events.CodeCancelled {
				t.Errorf("stopped %s: %v %s", name, d.Faults, diff)
			}
		})
	}
}

func TestAClaimIsRenewedWhileTheModelThinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		w.model = &tongue{says: onePlan, takes: 5 * time.Minute}
		during := func() {
			<-time.After(4 * time.Minute)
			if err := w.free(t); err == nil {
				t.Error("another planner could take the run of one that is alive")
			}
			<-time.After(2 * time.Minute)
		}
		musttest.Do(t, w.run(t, during, w.delivery(t, goal())))
		if len(w.facts) != 1 || w.facts[0].Kind != events.KindGraphCreated {
			t.Errorf("%+v", w.facts)
		}
	})
}

func TestAClaimIsLetGoOfWhenItsRenewalWasCutOff(t *testing.T) {
	for name, test := range map[string]struct {
		model *tongue
		stop  bool
	}{
		"stopped": {&tongue{says: onePlan, takes: time.Minute}, true},
		"put off": {&tongue{takes: 7 * time.Second, off: &Later{After: time.Second, Why: errors.New("429")}}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newPorts("x")
			w.model = test.model
			renewals := 0
			w.Answers = func(ctx context.Context, r events.JournalRecord) error {
				if r.Type == events.JournalRenewed {
					renewals++
				}
				if renewals != 2 {
					return nil
				}
				renewals++
				<-ctx.Done() // The second is stored, and in progress when the run ends.
				return ctx.Err()
			}
			during := func() {
				<-time.After(7 * time.Second)
				if test.stop {
					w.loop.Cancel("j", "", 1, "enough")
				}
			}
			musttest.Do(t, w.run(t, during, w.delivery(t, goal())))
			if err := w.free(t); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestACallThatIsPutOffForLongGoesBackToTheBroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		w.model = &tongue{off: &Later{After: 5 * time.Minute, Why: errors.New("429")}}
		seen := &shown{}
		w.items = seen
		musttest.Do(t, w.run(t, nil, w.delivery(t, goal())))
		if all := strings.Join(w.lines, ","); !strings.Contains(all, "nak 5m0s") || len(w.facts) != 0 {
			t.Error(all)
		}
		last := w.told[len(w.told)-1]
		if p := last.Data.(*events.SubJobProgressed); p.Message != "429" || !p.Until.Equal(time.Now().Add(5*time.Minute)) {
			t.Errorf("the log does not say what planning waits for: %+v", p)
		}
		if shown := seen.items[len(seen.items)-1]; shown.Type != item.Warning || !strings.HasPrefix(shown.Text, "429; it is asked again at ") {
			t.Errorf("watchers do not see what planning waits for: %+v", shown)
		}
	})
}

func TestAPlannerThatGoesOnWithARunThatItPutOffIsNotShownAsAnotherProcess(t *testing.T) {
	for owner, want := range map[string]int{"me": 0, "another": 1} {
		synctest.Test(t, func(t *testing.T) {
			w := newPorts("x")
			w.model = &tongue{off: &Later{After: time.Second, Why: errors.New("429")}}
			musttest.Do(t, w.run(t, nil, w.delivery(t, goal())))
			seen := &shown{}
			w.items, w.owner = seen, owner
			musttest.Do(t, w.run(t, nil, w.delivery(t, goal())))
			if seen.seams != want {
				t.Errorf("%s: %d seams, want %d", owner, seen.seams, want)
			}
		})
	}
}

func TestACallThatIsPutOffAgainAndAgainWaitsLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for count, wait := range map[int]string{1: "nak 1s", 3: "nak 3s", 5000: "nak 10m0s"} {
			w := newPorts("x")
			w.model = &tongue{off: &Later{After: time.Second, Why: errors.New("429")}}
			d := w.delivery(t, goal())
			d.Count = count
			musttest.Do(t, w.run(t, nil, d))
			if all := strings.Join(w.lines, ","); !strings.Contains(all, wait) {
				t.Errorf("delivery %d: %s", count, all)
			}
		}
	})
}

func TestAnUnknownProfileIsAFaultThatNamesThoseThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		o := goal()
		o.Request.Profile = "nobody"
		musttest.Do(t, w.run(t, nil, w.delivery(t, o)))
		if f := w.facts[0].Data.(*events.PlanRejected).Faults[0]; f.Field != "profile" || !strings.Contains(f.Cause, "plain") {
			t.Error(f)
		}
	})
}

func TestARunThatAnotherPlannerTookIsLeftUnsettledAndItsSpanEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		w.model = &tongue{says: onePlan, takes: time.Minute}
		d := w.delivery(t, goal())
		var lost []string
		w.trace = func(string, string, ...string) (string, func(string, ...string)) {
			return "00-span", func(failure string, _ ...string) { lost = append(lost, failure) }
		}
		taken := func() {
			list, err := w.Read(t.Context(), "", "")
			if err == nil {
				_, err = w.Append("", "", events.JournalRecord{Type: events.JournalClaimed, Run: 1, Owner: "other", Lease: events.Duration(time.Hour)}, uint64(len(list))).Wait(t.Context())
			}
			if err != nil {
				t.Error(err)
			}
			<-time.After(2 * time.Minute)
		}
		musttest.Do(t, w.run(t, taken, d))
		if all := strings.Join(w.lines, ","); len(lost) != 1 || !strings.Contains(lost[0], errLost.Error()) || len(w.facts) != 0 || strings.Contains(all, "ack") || strings.Contains(all, "nak") {
			t.Errorf("heard %q, %s", lost, all)
		}
	})
}

// noBlobs makes the object store fail from now on.
func (w *ports) noBlobs(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blobErr = err
}

// wide is a plan that is too large for a record.
func wide() string {
	return `{"subjobs":[{"id":"a","expert":"x","goal":"` + strings.Repeat("x", events.MaxInline) + `"}]}`
}

func TestALargeAnswerWaitsForAStoreThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		m := &tongue{says: wide()}
		w.model = m
		w.noBlobs(errors.New("bus is away"))
		during := func() {
			<-time.After(time.Minute)
			w.noBlobs(nil)
			<-time.After(time.Minute)
		}
		musttest.Do(t, w.run(t, during, w.delivery(t, goal())))
		if all := strings.Join(w.lines, ","); m.calls != 1 || strings.Contains(all, "nak") || !strings.Contains(all, "state graph.created") {
			t.Errorf("%d calls, %s", m.calls, all)
		}
	})
}

func TestALargeAnswerWaitsNoLongerThanItsRun(t *testing.T) {
	tests := map[string]struct {
		end    func(w *ports)
		within time.Duration
		facts  int
	}{
		"a stop ends it at once": {func(w *ports) { w.loop.Cancel("j", "", 1, "enough") }, 0, 1},
		"a lost claim ends it": {func(w *ports) {
			last := uint64(len(w.Entries))
			if _, err := w.Append("", "", events.JournalRecord{Type: events.JournalClaimed, Run: 2, Owner: "other"}, last).Wait(context.Background()); err != nil {
				t.Error(err)
			}
		}, longestBeat, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newPorts("x")
				w.model = &tongue{says: wide()}
				w.noBlobs(errors.New("bus is away"))
				var began time.Time
				during := func() {
					<-time.After(time.Minute)
					synctest.Wait()
					test.end(w)
					began = time.Now()
				}
				musttest.Do(t, w.run(t, during, w.delivery(t, goal())))
				if took := time.Since(began); took > test.within || len(w.facts) != test.facts {
					t.Errorf("it took %s: %q", took, w.lines)
				}
			})
		})
	}
}

func TestAClaimIsFreeALeaseBehindWhenItCouldBeRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts("x")
		claim := jobrun.Entry{JournalRecord: events.JournalRecord{Type: events.JournalClaimed, Run: 1, Owner: "dead", Lease: events.Duration(10 * time.Second)}, Seq: 1, Time: time.Now()}
		w.Entries = []jobrun.Entry{claim}
		<-time.After(time.Minute)
		w.Since = time.Now().Add(-4 * time.Second) // The bus has just reconnected.
		var busy *busyError
		if err := w.free(t); !errors.As(err, &busy) || busy.wait != 6*time.Second {
			t.Errorf("%v, want a wait of six seconds", err)
		}
		<-time.After(6 * time.Second)
		if err := w.free(t); err != nil {
			t.Error(err)
		}
	})
}

func TestNoModelIsAskedWhileThereIsNobodyToPlanFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts()
		m := &tongue{says: onePlan}
		w.model = m
		musttest.Do(t, w.run(t, func() { <-time.After(time.Minute) }, w.delivery(t, order(""))))
		if m.calls != 0 || len(w.Entries) != 0 || len(w.facts) != 1 {
			t.Fatalf("%d calls, journal %v, facts %v", m.calls, w.Entries, w.facts)
		}
		refused, ok := w.facts[0].Data.(*events.PlanRejected)
		if !ok || refused.Faults[0].Code != events.CodeUnknownExpert || !strings.Contains(refused.Faults[0].Hint, "--experts") {
			t.Errorf("%+v", w.facts[0])
		}
	})
}

func TestTheModelIsAskedOnceAnExpertIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPorts()
		m := &tongue{says: onePlan}
		w.model = m
		musttest.Do(t, w.run(t, func() { <-time.After(time.Second); w.announce("x") }, w.delivery(t, order(""))))
		if m.calls != 1 || w.facts[len(w.facts)-1].Kind != events.KindGraphCreated {
			t.Fatalf("%d calls, facts %v", m.calls, w.facts)
		}
	})
}
