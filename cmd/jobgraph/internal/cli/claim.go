package cli

import (
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/history"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// claim is who holds a run, as its journal tells.
type claim struct {
	owner string
	lease time.Duration
	// heard is when the owner last wrote, by the broker's clock.
	heard time.Time
}

// until is when somebody else may take the run over, unless its owner writes before.
func (c *claim) until() time.Time { return c.heard.Add(c.lease) }

// claimOf reads the claim of a run from a journal; ok is false when nobody has it: it was never claimed, or let go, or is over.
func claimOf(entries []bus.JournalEntry, run int) (c claim, ok bool) {
	for _, e := range entries {
		switch {
		case e.Type == events.JournalClosed && e.Run >= run, e.Type == events.JournalReported && e.Run == run:
			return claim{}, false
		case e.Run != run || e.Owner == "" || e.Malformed != "":
			continue
		case e.Type == events.JournalClaimed:
			c = claim{owner: e.Owner, lease: e.Lease.Std()}
		case e.Type == events.JournalRenewed && e.Owner == c.owner:
			c.lease = e.Lease.Std() // Without a lease it was let go.
		}
		if e.Owner == c.owner {
			c.heard = e.Time
		}
	}
	return c, c.owner != "" && c.lease > 0
}

// claimed adds to runs that are worked on by whom, and until when nobody else takes them over. Where the journal or the broker's
// clock cannot be read nothing is added.
func (a *app) claimed(h *history.History, c *client.Client, blockers []graph.Blocker) []graph.Blocker {
	runs := map[string]int{}
	for _, n := range h.Job.View().SubJobs {
		if n.Open && !n.Pure {
			runs[n.ID] = n.Run
		}
	}
	for i := range blockers {
		b := &blockers[i]
		if runs[b.SubJob] == 0 || b.Code != "running" && b.Code != "work" {
			continue
		}
		entries, _, err := c.Bus().Journal(h.Job.ID, b.SubJob).Read(a.soft)
		if err != nil {
			return blockers
		}
		held, ok := claimOf(entries, runs[b.SubJob])
		if !ok {
			continue
		}
		now, _, err := c.Bus().Clock(a.soft)
		if err != nil {
			return blockers
		}
		held.explain(b, runs[b.SubJob], now)
	}
	return blockers
}

// explain puts a claim into words.
func (c *claim) explain(b *graph.Blocker, run int, now time.Time) {
	if b.Code == "work" {
		b.Code, b.Message, b.Unblock = "running", fmt.Sprintf("run %d has begun", run), ""
	}
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	if !now.After(c.until()) {
		b.Message += fmt.Sprintf(" by %s, whose claim holds until %s unless it is renewed", c.owner, stamp(c.until()))
		return
	}
	b.Message += fmt.Sprintf(" by %s, of which nothing was heard since %s: its lease of %s ended at %s", c.owner, stamp(c.heard), c.lease, stamp(c.until()))
	b.Unblock = "a running runner of its pool takes the run over, at the latest a lease after the bus is back"
}
