package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// absent explains queued work whose expert is not announced: it was withdrawn, or its runner is down. It adds nothing if
// the catalogue cannot be read.
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
	experts := map[string]string{}
	for _, n := range h.Job.View().SubJobs {
		experts[n.ID] = n.Expert
	}
	for i := range blockers {
		b := &blockers[i]
		if expert := experts[b.SubJob]; inQueue(*b) && !there[expert] {
			b.Message += ", and no runner announces " + expert
			b.Unblock = fmt.Sprintf("a runner that has the card of %s; jobgraph experts list shows who is there", expert)
		}
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
