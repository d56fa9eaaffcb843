package loop

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// done is the work of writing up the result of two steps.
func done(attempt int) events.Work {
	return events.Work{
		Kind: events.WorkFinalize, Job: "j", SubJob: events.FinalID, Run: attempt, Attempt: attempt, Lease: events.Duration(30 * time.Second),
		IdempotencyKey: "j/~final/1", Request: &events.Request{
			Goal: "g", Finalize: "summary:x", Plan: json.RawMessage(`{"locale":"de-DE","subjobs":[{"id":"a","goal":"look"},{"id":"b","goal":"write","dependencies":["a"]}]}`),
		},
		Results: map[string]events.Result{"a": {Output: json.RawMessage(`"seen"`)}, "b": {OutputRef: &events.Ref{Digest: "large"}}},
	}
}

// finishing is a delivery of it.
func (w *ports) finishing(t *testing.T, o events.Work) queue.Delivery {
	d := w.delivery(t, o)
	d.Subject = events.NewNames("").WorkFor(events.PlannerPool, events.PlannerExpert, "j", events.FinalID, o.Run)
	return d
}

func finisher(ids ...string) (*ports, *tongue) {
	w, m := newPorts(ids...), &tongue{says: "all is well"}
	w.model, w.blobs["large"] = m, []byte(`"a long result"`)
	return w, m
}

// last returns the report that was published last.
func (w *ports) last(t *testing.T) *events.SubJobReported {
	t.Helper()
	if len(w.facts) == 0 {
		t.Fatalf("nothing was stated: %v", w.lines)
	}
	r, ok := w.facts[len(w.facts)-1].Data.(*events.SubJobReported)
	if !ok {
		t.Fatalf("%+v", w.facts)
	}
	return r
}

// The budget does not cut off the wording of a result that has been paid for.
func TestAResultIsPutIntoWordsEvenWhenTheBudgetIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := finisher("x")
		m.says = ""
		work := done(1)
		work.Budget = events.Spent{Tokens: 1}
		musttest.Do(t, w.run(t, nil, w.finishing(t, work)))
		if r := w.last(t); m.calls != 2 || r.Tokens != 20 {
			t.Errorf("%d calls, %+v", m.calls, r)
		}
	})
}

func TestAModelPutsTheResultIntoWordsAndWhatItCostIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := finisher("x")
		musttest.Do(t, w.run(t, nil, w.finishing(t, done(1))))
		check(t, w, "tell subjob.progressed j/~final/1", "state subjob.reported j/~final/1", "ack", `counted "subjob.reported" repeated false`, "drained")
		for _, part := range []string{"summary in de-DE", "seen", "a long result"} {
			if !strings.Contains(m.heard, part) {
				t.Errorf("lacks %q: %s", part, m.heard)
			}
		}
		if r := w.last(t); r.Outcome != events.Success || !strings.Contains(string(r.Output), "all is well") || r.Tokens != 10 {
			t.Errorf("%+v", r)
		}
	})
}

func TestNoFinishedCallForWordsIsMadeAgainAfterACrash(t *testing.T) {
	for _, point := range []Point{AtTaken, AtClaim, AtIntent, AtAnswered, AtKept, AtPublish, AtPublished, AtAcked} {
		synctest.Test(t, func(t *testing.T) {
			w, m := finisher("x")
			w.dies(t, point, w.finishing(t, done(1)))
			<-time.After(time.Minute) // In virtual time: the lease of the dead one passes.
			again := w.finishing(t, done(1))
			again.Count = 2
			musttest.Do(t, w.run(t, nil, again))
			want := 1
			if point == AtAnswered {
				want = 2 // The call that was in progress.
			}
			if r := w.last(t); m.calls != want || len(m.keys) != 1 || r.Outcome != events.Success {
				t.Errorf("killed at %s: %d calls under %d keys, want %d; %+v", point, m.calls, len(m.keys), want, r)
			}
		})
	}
}

func TestWordsThatAreStoppedEndAtOnceAndWithAReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := finisher("x")
		m.takes = time.Hour
		began := time.Now()
		musttest.Do(t, w.run(t, func() { w.loop.Cancel("j", "", 1, "enough") }, w.finishing(t, done(1))))
		if r := w.last(t); r.Outcome != events.ExecutionError || r.Error.Code != events.CodeCancelled || time.Since(began) > time.Second {
			t.Errorf("%+v after %s", r, time.Since(began))
		}
	})
}

func TestTheStandInIsOnlyAskedWhenItIsThere(t *testing.T) {
	for id, outcome := range map[string]events.Outcome{"x": events.ExecutionError, "y": events.Success} {
		synctest.Test(t, func(t *testing.T) {
			w, m := finisher(id)
			m.says = ""
			musttest.Do(t, w.run(t, nil, w.finishing(t, done(1))))
			if r := w.last(t); m.calls != 2 || r.Outcome != outcome || r.Tokens != 20 || (r.Lesson != "") != (outcome == events.ExecutionError) {
				t.Errorf("%s is there: %d calls, %+v", id, m.calls, r)
			}
		})
	}
}

func TestWhatTheStandInWroteIsSetWithoutAModelOrAClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := finisher("x")
		o := done(3)
		o.Results[events.FinalID] = events.Result{Output: json.RawMessage(`"by hand"`)}
		musttest.Do(t, w.run(t, nil, w.finishing(t, o)))
		if r := w.last(t); m.calls != 0 || len(w.Entries) != 0 || !strings.Contains(string(r.Output), "by hand") {
			t.Errorf("%d calls, %d records, %+v", m.calls, len(w.Entries), r)
		}
	})
}

func TestWhateverBytesTheWorkBringsItIsAnsweredWithAReport(t *testing.T) {
	garbage := done(1)
	garbage.Request.Plan = json.RawMessage(`"no plan"`)
	stranger := done(1)
	stranger.Request.Profile = "nobody"
	empty := done(1)
	empty.Request = nil
	for name, o := range map[string]events.Work{"no plan": garbage, "unknown profile": stranger, "no request": empty} {
		synctest.Test(t, func(t *testing.T) {
			w, _ := finisher("x")
			musttest.Do(t, w.run(t, nil, w.finishing(t, o)))
			if r := w.last(t); r.Outcome != events.ExecutionError || r.Error == nil {
				t.Errorf("%s: %+v", name, r)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w, _ := finisher("x")
		d := w.finishing(t, done(1))
		d.Body = []byte(`{"kind":`)
		musttest.Do(t, w.run(t, nil, d))
		if r := w.last(t); r.Outcome != events.ExecutionError || r.Error.Code != events.CodeMalformed {
			t.Errorf("%+v", r)
		}
	})
}

func TestResultsAreReadWhereverTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := finisher("x")
		o := done(1)
		all := map[string]events.Result{
			"a": {OutputRef: &events.Ref{Digest: "gone"}}, "b": {OutputRef: &events.Ref{Digest: "note", MediaType: "text/plain; charset=utf-8"}},
			"skipped": {Skipped: true},
		}
		w.blobs["note"] = []byte("just text")
		raw := musttest.JSON(t, all)
		w.blobs["all"] = raw
		o.Results, o.ResultsRef = nil, &events.Ref{Digest: "all"}
		o.Request.PlanRef, w.blobs["plan"] = &events.Ref{Digest: "plan"}, o.Request.Plan
		o.Request.Plan = nil
		musttest.Do(t, w.run(t, nil, w.finishing(t, o)))
		for _, part := range []string{"just text", `"digest":"gone"`} {
			if !strings.Contains(m.heard, part) {
				t.Errorf("lacks %q: %s", part, m.heard)
			}
		}
	})
}

func TestLongWordsAreStoredBeforeTheyAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := finisher("x")
		m.says = strings.Repeat("x", events.MaxInline+1)
		musttest.Do(t, w.run(t, nil, w.finishing(t, done(1))))
		if r := w.last(t); r.Output != nil || r.OutputRef == nil || r.Outcome != events.Success {
			t.Errorf("%+v", r)
		}
	})
}

func TestMetricsHearWhatDraftsWereWorthAndWhoWroteTheWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := finisher("x")
		var heard []Outcome
		w.hears = func(o Outcome) { heard = append(heard, o) }
		m := &tongue{}
		w.model = m
		plan := `{"has_enough_context":true,"subjobs":[{"id":"a","goal":"x","expert":"x"}]}`
		for _, turn := range []struct {
			says string
			d    queue.Delivery
		}{{"no plan", w.delivery(t, goal())}, {plan, w.delivery(t, goal())}, {"words", w.finishing(t, done(1))}} {
			m.says, w.Entries = turn.says, nil
			musttest.Do(t, w.run(t, nil, turn.d))
		}
		yes := true
		want := []Outcome{
			{Kind: events.KindPlanRejected, Rounds: 1, Drafts: planning.Drafts{Unreadable: 2}},
			{Kind: events.KindGraphCreated, Rounds: 1, Steps: 1, Drafts: planning.Drafts{Valid: 1}, EnoughContext: &yes, Remarks: []string{"executable"}},
			{Kind: events.KindSubJobReported, Author: planning.ByModel},
		}
		for i := range heard {
			heard[i].Took, heard[i].Faults = 0, nil
		}
		musttest.Equal(t, want, heard)
	})
}
