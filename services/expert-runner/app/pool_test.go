package app_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/service/servicetest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// pooled makes the subjects of a run name its pool, as with signers.
func pooled(w *servicetest.Env, o events.Work) events.Work {
	o.ClaimSubject = w.Names.JournalIn(o.Job, o.SubJob, events.DefaultPool)
	o.ReportSubject = w.Names.RunEventOf(o.Job, events.KindSubJobReported, o.SubJob, o.Run, events.DefaultPool)
	return o
}

// put stores records in a journal.
func put(w *servicetest.Env, j bus.Journal, records ...events.JournalRecord) {
	w.Helper()
	_, last, err := j.Read(w.Context())
	for i := 0; i < len(records) && err == nil; i++ {
		last, err = j.Append(w.Context(), records[i], last)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// types returns the types of the records on the subject of a pool.
func types(w *servicetest.Env, job, subjob, pool string) (list []events.JournalType) {
	w.Helper()
	entries, _, err := w.Bus.Journal(job, subjob).In(pool).Read(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Type)
	}
	return list
}

// paid returns the records of a payment with an unknown outcome, by a run that was closed.
func paid() []events.JournalRecord {
	return []events.JournalRecord{
		{Type: events.JournalClaimed, Run: 1, Owner: "dead", Lease: events.Duration(1)},
		{Type: events.JournalIntent, Run: 1, Owner: "dead", Key: "pay/0", Name: "pay", Data: json.RawMessage(`{"order":"7"}`)},
		{Type: events.JournalClosed, Run: 1, Reason: "edited"},
	}
}

func TestOnlyRecordsOfThePoolsOfARunCount(t *testing.T) {
	order := func(w *servicetest.Env, number int) events.Work {
		o := work("pay", "j1", "a", number)
		o.Inputs = map[string]json.RawMessage{"orders": json.RawMessage(`["7"]`)}
		return pooled(w, o)
	}
	forged := []events.JournalRecord{
		{Type: events.JournalResult, Run: 2, Owner: "foe", Key: "pay/0", Name: "pay", Data: json.RawMessage(`"forged"`)},
		{Type: events.JournalReported, Run: 2, Owner: "foe", Name: "subjob.reported", Data: json.RawMessage(`{"outcome":"SUCCESS","output":"forged"}`)},
		{Type: events.JournalClosed, Run: 9, Reason: "forged"},
	}
	for name, c := range map[string]struct {
		pool    string
		records []events.JournalRecord
		former  []events.Tenure
		asked   bool
	}{
		"of another pool":                         {"foe", forged, nil, false},
		"of another pool, of a run before":        {"foe", paid(), nil, false},
		"of the pool of the run before":           {"old", paid(), []events.Tenure{{Pool: "old", Run: 1}}, true},
		"of that pool about a run of this one":    {"old", forged, []events.Tenure{{Pool: "old", Run: 1}}, false},
		"of the engine, or of an import":          {"", paid(), nil, true},
		"of the pool itself, from the run before": {events.DefaultPool, paid(), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				put(w, w.Bus.Journal("j1", "a").In(c.pool), c.records...)
				p := &payer{}
				start(w, app.Settings{}, app.Deps{Owner: "one", Functions: []app.Function{p.function("pay")}})
				o := order(w, 2)
				o.Former = c.former
				w.Issue(o)
				if c.asked {
					if in := w.Asked(o); in.Kind != events.InputUnknown {
						t.Errorf("asked: %+v", in)
					}
				} else if got := w.Report(o); string(got.Output) != `["receipt 1"]` {
					t.Errorf("%+v", got)
				}
				w.Idle()
				if n := p.paid.Load(); (n == 0) != c.asked {
					t.Errorf("%d payments", n)
				}
				if c.pool != events.DefaultPool && len(types(w, "j1", "a", c.pool)) != len(c.records) {
					t.Errorf("on the subject of pool %q is now %v", c.pool, types(w, "j1", "a", c.pool))
				}
			})
		})
	}
}

// A first run does not read a journal that must be empty. That of a job from before the pools had subjects of their own may have records
// without a pool.
func TestTheFirstRunOfAnOlderJobReadsWhatWasWrittenBefore(t *testing.T) {
	servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
		p := &payer{}
		put(w, w.Bus.Journal("j1", "a"),
			events.JournalRecord{Type: events.JournalClaimed, Run: 1, Owner: "dead", Lease: events.Duration(1)},
			events.JournalRecord{Type: events.JournalResult, Run: 1, Owner: "dead", Key: "pay/0", Name: "pay", Data: json.RawMessage(`"receipt 0"`)})
		start(w, app.Settings{}, app.Deps{Owner: "one", Functions: []app.Function{p.function("pay")}})
		o := work("pay", "j1", "a", 1)
		o.Inputs = map[string]json.RawMessage{"orders": json.RawMessage(`["7"]`)}
		o = pooled(w, o)
		o.Former = []events.Tenure{{Run: 1}}
		w.Issue(o)
		if got := w.Report(o); string(got.Output) != `["receipt 0"]` || p.paid.Load() != 0 {
			t.Errorf("%+v, %d payments", got, p.paid.Load())
		}
		w.Idle()
		musttest.Equal(t, []events.JournalType{events.JournalClaimed, events.JournalReported}, types(w, "j1", "a", events.DefaultPool))
	})
}

// Work published before the list of signers existed names no pool for the claim. Other work of the same run may name it, and the
// run is executed once.
func TestARunIsExecutedOnceWhicheverSubjectItsWorkNames(t *testing.T) {
	for name, first := range map[string]bool{"with the pool first": true, "without it first": false} {
		t.Run(name, func(t *testing.T) {
			servicetest.Virtual(t, func(t *testing.T, w *servicetest.Env) {
				began := make(chan string, 2)
				start(w, app.Settings{}, app.Deps{Owner: "one", Functions: []app.Function{function("f", false, endless(began))}})
				start(w, app.Settings{}, app.Deps{Owner: "two", Functions: []app.Function{function("f", false, endless(began))}})
				one, two := pooled(w, work("f", "j1", "a", 1)), pooled(w, work("f", "j1", "a", 1))
				if first {
					two.ClaimSubject = w.Names.JournalOf("j1", "a")
				} else {
					one.ClaimSubject = w.Names.JournalOf("j1", "a")
					two.Former = []events.Tenure{{Run: 1}} // The job is older than the list.
				}
				w.Issue(one)
				servicetest.Next(w, began)
				w.Issue(two)
				<-time.After(5 * time.Second) // The claim waits: the lease is longer.
				if len(began) != 0 {
					t.Error("the run is executed twice")
				}
			})
		})
	}
}
