package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/run"
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
