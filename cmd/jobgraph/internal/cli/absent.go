package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// absent explains queued work whose expert is not announced, because it was withdrawn or its runner is down, and work for which no
// worker asks. It adds nothing if the catalogue cannot be read.
func (g views) absent(h *joblog.Log, c *client.Client, blockers []graph.Blocker) []graph.Blocker {
	inQueue := func(b graph.Blocker) bool { return b.Code == "work" }
	if !slices.ContainsFunc(blockers, inQueue) {
		return blockers
	}
	cards, err := c.Experts().List(g.app.soft)
	if err != nil {
		return blockers
	}
	there := map[string]bool{events.PlannerExpert: true, "": true}
	for _, card := range cards {
		there[card.ID] = true
	}
	experts, pools := map[string]string{}, map[string]string{}
	for _, n := range h.Job.View().SubJobs {
		pool, expert := n.Queue()
		experts[n.ID] = expert
		if there[expert] {
			pools[n.ID] = pool
		}
	}
	for i := range blockers {
		b := &blockers[i]
		if expert := experts[b.SubJob]; inQueue(*b) && !there[expert] {
			b.Message += ", and no runner announces " + expert
			b.Unblock = fmt.Sprintf("a runner that has the card of %s; jobgraph experts list shows who is there", expert)
		}
	}
	ctx, cancel := context.WithTimeout(g.app.soft, admissionBound)
	defer cancel()
	lines, err := client.SupplyOf(c).Pools(ctx)
	if err != nil {
		return blockers // It is only additional information.
	}
	return unread(lines, pools, blockers)
}

// unread says of queued work that no worker asks for it, unless a worker of its pool still has work in hand. pools has the pool of each
// SubJob whose expert is announced.
func unread(lines []verb.PoolLine, pools map[string]string, blockers []graph.Blocker) []graph.Blocker {
	idle := map[string]bool{}
	for _, l := range lines {
		before, known := idle[l.Pool]
		idle[l.Pool] = l.Readers == 0 && l.InHand == 0 && (before || !known)
	}
	for i := range blockers {
		b := &blockers[i]
		pool := pools[b.SubJob]
		if b.Code != "work" || !idle[pool] {
			continue
		}
		if pool == events.PlannerPool {
			b.Message += "; no planner asks for work now"
			b.Unblock = "start a planner; `jobgraph pools` shows what waits"
			continue
		}
		b.Message += ", and no worker asks for work of pool " + pool + " now"
		b.Unblock = "start a runner or worker that serves pool " + pool + "; `jobgraph pools` shows what waits"
	}
	return blockers
}

// programless says why agents on an embedded bus cannot run programs on this machine, before a model is asked.
func (a *app) programless(c *client.Client) {
	cards, err := c.Experts().List(a.soft)
	if err != nil {
		return // The job itself will report the fault.
	}
	var said []string
	for _, card := range cards {
		for _, tag := range card.Tags {
			why, is := strings.CutPrefix(tag, events.ToolsTag+"run ")
			if !is {
				why, is = strings.CutPrefix(tag, events.SandboxTag+"unavailable, so the tool run is not offered: ")
			}
			if is && !slices.Contains(said, why) {
				said = append(said, why)
				a.note("agents run no programs on this machine: %s", why)
			}
		}
	}
}
