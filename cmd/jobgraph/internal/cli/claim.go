package cli

import (
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// claimed adds to each running run who executes it and until when it cannot be taken over. It adds nothing if the journal or the
// broker's clock cannot be read.
func (g views) claimed(h *joblog.Log, c *client.Client, blockers []graph.Blocker) []graph.Blocker {
	runs, places := map[string]int{}, map[string][2]string{}
	for _, n := range h.Job.View().SubJobs {
		if n.Open && !n.Pure {
			pool, expert := n.Queue()
			runs[n.ID], places[n.ID] = n.Run, [2]string{pool, expert}
		}
	}
	for i := range blockers {
		b := &blockers[i]
		if runs[b.SubJob] == 0 || b.Code != "running" && b.Code != "work" {
			continue
		}
		entries, err := c.Journals().Read(g.app.soft, h, b.SubJob)
		if err != nil {
			return blockers
		}
		journal := run.Read(entries)
		held, ok := journal.Holder(runs[b.SubJob])
		if !ok {
			if at, ok := journal.GivenUp(runs[b.SubJob]); ok {
				explainReturn(b, runs[b.SubJob], places[b.SubJob][0], places[b.SubJob][1], at)
			}
			continue
		}
		now, _, err := c.Bus().Clock(g.app.soft)
		if err != nil {
			return blockers
		}
		explainHolder(b, runs[b.SubJob], &held, now)
	}
	return blockers
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// explainReturn describes a run that its owner has given back.
func explainReturn(b *graph.Blocker, number int, pool, expert string, at time.Time) {
	b.Code = "work"
	b.Message = fmt.Sprintf("run %d was given back at %s and is in the queue of pool %s for expert %s", number, stamp(at), pool, expert)
	b.Unblock = "a runner that serves pool " + pool + " and has a free place, when its turn has come"
}

// explainHolder describes the owner of a run.
func explainHolder(b *graph.Blocker, number int, h *run.Holder, now time.Time) {
	if b.Code == "work" {
		b.Code, b.Message, b.Unblock = "running", fmt.Sprintf("run %d has begun", number), ""
	}
	if !now.After(h.Until()) {
		b.Message += fmt.Sprintf(" by %s, whose claim holds until %s unless it is renewed", h.Owner, stamp(h.Until()))
		return
	}
	b.Message += fmt.Sprintf(" by %s, but nothing was heard from it since %s: its lease of %s ended at %s", h.Owner, stamp(h.Heard), h.Lease, stamp(h.Until()))
	b.Unblock = "a runner of its pool takes the run over, at the latest a lease after the bus is back; `jobgraph doctor` says whether one is there"
}
