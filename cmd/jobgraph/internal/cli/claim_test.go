package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

func TestWhySaysWhoHoldsARunAndUntilWhen(t *testing.T) {
	zero := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	entry := func(at int, kind events.JournalType, number int, owner string, lease int) run.Entry {
		r := events.JournalRecord{Type: kind, Run: number, Owner: owner, Lease: events.Duration(time.Duration(lease) * time.Second)}
		return run.Entry{JournalRecord: r, Time: zero.Add(time.Duration(at) * time.Second)}
	}
	claimed, effect := entry(0, events.JournalClaimed, 2, "one", 10), entry(4, events.JournalIntent, 2, "one", 0)
	held := " by one, whose claim holds until 2026-01-02T03:04:14Z unless it is renewed"
	for name, c := range map[string]struct {
		journal []run.Entry
		now     int
		want    string
	}{
		"nobody":               {nil, 0, ""},
		"another run":          {[]run.Entry{entry(0, events.JournalClaimed, 1, "one", 10)}, 1, ""},
		"held":                 {[]run.Entry{claimed, effect}, 14, held},
		"renewed":              {[]run.Entry{claimed, entry(4, events.JournalRenewed, 2, "one", 10)}, 5, held},
		"dead":                 {[]run.Entry{claimed, effect}, 15, " by one, but nothing was heard from it since 2026-01-02T03:04:04Z: its lease of 10s ended at 2026-01-02T03:04:14Z"},
		"let go":               {[]run.Entry{claimed, entry(4, events.JournalRenewed, 2, "one", 0)}, 5, ""},
		"taken over":           {[]run.Entry{entry(-20, events.JournalClaimed, 2, "zero", 10), claimed, entry(3, events.JournalIntent, 2, "zero", 0), effect}, 5, held},
		"reported":             {[]run.Entry{claimed, entry(4, events.JournalReported, 2, "one", 0)}, 5, ""},
		"closed":               {[]run.Entry{claimed, entry(4, events.JournalClosed, 2, "", 0)}, 5, ""},
		"closed, an older run": {[]run.Entry{claimed, entry(4, events.JournalClosed, 1, "", 0), effect}, 5, held},
	} {
		b := graph.Blocker{Code: "running"}
		if held, ok := run.Read(c.journal).Holder(2); ok {
			explainHolder(&b, 2, &held, zero.Add(time.Duration(c.now)*time.Second))
		}
		if diff := cmp.Diff(c.want, b.Message); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhySaysThatARunWasGivenBack(t *testing.T) {
	zero := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	entry := func(at int, r events.JournalRecord) run.Entry {
		return run.Entry{JournalRecord: r, Time: zero.Add(time.Duration(at) * time.Second)}
	}
	claim := events.JournalRecord{Type: events.JournalClaimed, Run: 2, Owner: "one", Lease: events.Duration(10 * time.Second)}
	journal := run.Read([]run.Entry{entry(0, claim), entry(4, run.Released(2, "one"))})
	node := graph.Blocker{SubJob: "a", Code: "running", Message: "run 2 is being worked on since then"}
	at, ok := journal.GivenUp(2)
	if !ok {
		t.Fatal("the run has an owner")
	}
	explainReturn(&node, 2, "shop", "charge", at)
	want := graph.Blocker{
		SubJob: "a", Code: "work", Message: "run 2 was given back at 2026-01-02T03:04:04Z and is in the queue of pool shop for expert charge",
		Unblock: "a runner that serves pool shop and has a free place, when its turn has come",
	}
	if diff := cmp.Diff(want, node); diff != "" {
		t.Error(diff)
	}
}

func TestWhySaysThatNoWorkerAsksForTheWorkOfAPool(t *testing.T) {
	pools := map[string]string{"a": "shop", "~plan": events.PlannerPool}
	for name, c := range map[string]struct {
		lines  []verb.PoolLine
		subjob string
		code   string
		want   string // The remedy, empty if nothing is added.
	}{
		"a reader":             {[]verb.PoolLine{{Pool: "shop", Readers: 1}}, "a", "work", ""},
		"a reader of batches":  {[]verb.PoolLine{{Pool: "shop"}, {Pool: "shop", Batches: true, Readers: 1}}, "a", "work", ""},
		"a busy worker":        {[]verb.PoolLine{{Pool: "shop", InHand: 1}}, "a", "work", ""},
		"an unknown pool":      {[]verb.PoolLine{{Pool: "other"}}, "a", "work", ""},
		"none":                 {[]verb.PoolLine{{Pool: "shop", Waiting: 1}, {Pool: "shop", Batches: true}}, "a", "work", "start a runner or worker that serves pool shop; `jobgraph pools` shows what waits"},
		"no planner":           {[]verb.PoolLine{{Pool: events.PlannerPool, Waiting: 1}}, "~plan", "work", "start a planner; `jobgraph pools` shows what waits"},
		"it is being executed": {[]verb.PoolLine{{Pool: "shop"}}, "a", "running", ""},
	} {
		got := unread(c.lines, pools, []graph.Blocker{{SubJob: c.subjob, Code: c.code, Message: "waits"}})[0]
		want := graph.Blocker{SubJob: c.subjob, Code: c.code, Message: "waits"}
		if c.want != "" {
			want.Message, want.Unblock = "waits, and no worker asks for work of pool shop now", c.want
		}
		if c.subjob == "~plan" {
			want.Message = "waits; no planner asks for work now"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhySaysUntilWhenARunInProgressIsPutOff(t *testing.T) {
	milestone := func(p events.SubJobProgressed) events.Event { return events.Event{SubJob: "~plan", Data: &p} }
	limited := milestone(events.SubJobProgressed{Message: "rate limited", Until: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
	draft := milestone(events.SubJobProgressed{Message: "draft"})
	for name, c := range map[string]struct {
		log  []events.Event
		code string
		want string
	}{
		"put off":           {[]events.Event{draft, limited, {SubJob: "a"}}, "work", "; put off until 2026-01-02T03:04:05Z: rate limited"},
		"held again":        {[]events.Event{limited}, "running", "; put off until 2026-01-02T03:04:05Z: rate limited"},
		"it went on":        {[]events.Event{limited, draft}, "work", ""},
		"of another SubJob": {[]events.Event{{SubJob: "a", Data: limited.Data}}, "work", ""},
		"not in progress":   {[]events.Event{limited}, "ended", ""},
	} {
		g := views{app: &app{globals: globals{output: "json"}}}
		got := g.delayed(&joblog.Log{Events: c.log}, []graph.Blocker{{SubJob: "~plan", Code: c.code}})
		if got[0].Message != c.want {
			t.Errorf("%s: %q", name, got[0].Message)
		}
	}
}
