package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
)

// planning summarises the planners' work for a job.
type planning struct {
	// Rounds counts how often a model planned again, Drafts the plans that it wrote, including repairs.
	Rounds int `json:"rounds"`
	Drafts int `json:"drafts"`
	// Spent is the total cost, TookMS the total wait for answers in milliseconds.
	events.Spent
	TookMS int64 `json:"took_ms"`
	// Exchanges are the calls, Warnings the changes in plans, Remarks doubts about plans.
	Exchanges []joblog.Exchange `json:"exchanges"`
	Warnings  events.Faults     `json:"warnings,omitempty"`
	Remarks   []planner.Remark  `json:"remarks,omitempty"`
}

// planned collects the summary from the journals and the log; nil if there is nothing to report.
func (g views) planned(h *joblog.Log, c *client.Client) *planning {
	p := &planning{}
	rounds := map[string]bool{}
	for _, n := range h.Job.View().SubJobs {
		if !plannedBy(n) || c == nil {
			continue
		}
		list, err := c.Journals().Exchanges(g.app.soft, h.Job.ID, n.ID)
		if err != nil {
			g.app.note("what planning has asked cannot be read: %v", err)
			return nil
		}
		for i := range list {
			x := &list[i]
			x.Prompt, x.Answer = nil, "" // They are shown with --prompts only.
			p.Tokens += x.Tokens
			p.CostUSD += x.CostUSD
			p.TookMS += x.TookMS
			if strings.HasPrefix(x.Key, "draft/") {
				p.Drafts++
				rounds[fmt.Sprintf("%s/%d", n.ID, x.Run)] = true
			}
		}
		p.Exchanges = append(p.Exchanges, list...)
	}
	p.Rounds = len(rounds)
	for i := range h.Events {
		if created, ok := h.Events[i].Data.(*events.GraphCreated); ok {
			p.Warnings = append(p.Warnings, created.Warnings...)
			if created.Plan != nil && p.Drafts > 0 {
				p.Remarks = append(p.Remarks, planner.Quality(created.Plan)...)
			}
		}
	}
	p.Warnings = append(p.Warnings, doubts(h)...)
	if len(p.Exchanges)+len(p.Warnings) == 0 {
		return nil
	}
	return p
}

// doubts returns the warnings about the job's result, of the run that wrote it.
func doubts(h *joblog.Log) events.Faults {
	n := h.Node(events.FinalID)
	if n == nil || n.ResultSeq == 0 {
		return nil
	}
	if e := h.At(n.ResultSeq); e != nil {
		return e.Report().Warnings
	}
	return nil
}

// plannedBy reports whether a planner worked on a node: it plans, writes up the result, or was split.
func plannedBy(n *graph.SubJobState) bool {
	return n.ID == events.PlanID || n.ID == events.FinalID || n.Mode == events.WorkSplit || len(n.ReplacedBy) > 0
}

// write formats the summary for people, one line per call.
func (p *planning) write(b *strings.Builder) {
	fmt.Fprintf(b, "planning   %s, %s, %s", count(p.Rounds, "round"), count(p.Drafts, "draft"), count(int(p.Tokens), "token"))
	if p.CostUSD > 0 {
		fmt.Fprintf(b, ", %.4f USD", p.CostUSD)
	}
	fmt.Fprintf(b, ", waited %s\n", output.Span(time.Duration(p.TookMS)*time.Millisecond))
	for _, x := range p.Exchanges {
		who := x.Model
		if who == "" {
			who = x.Kind
		}
		line := fmt.Sprintf("  %s/%d %s: %s by %s, %s, %s", x.SubJob, x.Run, x.Key, x.Outcome, who, count(int(x.Tokens), "token"), output.Span(time.Duration(x.TookMS)*time.Millisecond))
		b.WriteString(output.Clean(line) + "\n")
	}
	for i := range p.Warnings {
		b.WriteString("  warning: " + output.Clean(p.Warnings[i].Error()) + "\n")
	}
	for _, r := range p.Remarks {
		b.WriteString("  doubt (" + r.Kind + "): " + output.Clean(strings.TrimSpace(r.SubJob+" "+r.Message)) + "\n")
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
