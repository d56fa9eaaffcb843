package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

func TestWhySaysWhoHoldsARunAndUntilWhen(t *testing.T) {
	zero := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	entry := func(at int, kind events.JournalType, run int, owner string, lease int) bus.JournalEntry {
		r := events.JournalRecord{Type: kind, Run: run, Owner: owner, Lease: events.Duration(time.Duration(lease) * time.Second)}
		return bus.JournalEntry{JournalRecord: r, Time: zero.Add(time.Duration(at) * time.Second)}
	}
	claimed, effect := entry(0, events.JournalClaimed, 2, "one", 10), entry(4, events.JournalIntent, 2, "one", 0)
	held := " by one, whose claim holds until 2026-01-02T03:04:14Z unless it is renewed"
	for name, c := range map[string]struct {
		journal []bus.JournalEntry
		now     int
		want    string
	}{
		"nobody":               {nil, 0, ""},
		"another run":          {[]bus.JournalEntry{entry(0, events.JournalClaimed, 1, "one", 10)}, 1, ""},
		"held":                 {[]bus.JournalEntry{claimed, effect}, 14, held},
		"renewed":              {[]bus.JournalEntry{claimed, entry(4, events.JournalRenewed, 2, "one", 10)}, 5, held},
		"dead":                 {[]bus.JournalEntry{claimed, effect}, 15, " by one, of which nothing was heard since 2026-01-02T03:04:04Z: its lease of 10s ended at 2026-01-02T03:04:14Z"},
		"let go":               {[]bus.JournalEntry{claimed, entry(4, events.JournalRenewed, 2, "one", 0)}, 5, ""},
		"taken over":           {[]bus.JournalEntry{entry(-20, events.JournalClaimed, 2, "zero", 10), claimed, entry(3, events.JournalIntent, 2, "zero", 0), effect}, 5, held},
		"reported":             {[]bus.JournalEntry{claimed, entry(4, events.JournalReported, 2, "one", 0)}, 5, ""},
		"closed":               {[]bus.JournalEntry{claimed, entry(4, events.JournalClosed, 2, "", 0)}, 5, ""},
		"closed, an older run": {[]bus.JournalEntry{claimed, entry(4, events.JournalClosed, 1, "", 0), effect}, 5, held},
	} {
		b := graph.Blocker{Code: "running"}
		if held, ok := claimOf(c.journal, 2); ok {
			held.explain(&b, 2, zero.Add(time.Duration(c.now)*time.Second))
		}
		if diff := cmp.Diff(c.want, b.Message); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
