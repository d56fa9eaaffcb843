package cli

import (
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// writePrompts shows what planning has asked models for a job, or for one SubJob, and what they answered.
func (g views) writePrompts(h *joblog.Log, c *client.Client, subjob string) error {
	all := []joblog.Exchange{}
	for _, n := range h.Job.View().SubJobs {
		if !plannedBy(n) || subjob != "" && n.ID != subjob {
			continue
		}
		list, err := c.Journals().Exchanges(g.app.soft, h.Job.ID, n.ID)
		if err != nil {
			return err
		}
		for i := range list {
			if list[i].Prompt != nil || list[i].Answer != "" {
				all = append(all, list[i])
			}
		}
	}
	if r := h.Request(); r == nil || !r.Request.Debug {
		g.app.note("the prompts of this job were not kept: submit with --debug, or \"debug\": true in the request")
	}
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, all)
	}
	var b strings.Builder
	for i := range all {
		x := &all[i]
		fmt.Fprintf(&b, "%s/%d %s\n", x.SubJob, x.Run, x.Key)
		if x.Prompt != nil {
			b.WriteString(indented(x.Prompt.String()))
		}
		if x.Outcome != "open" {
			b.WriteString(indented("[" + strings.TrimSpace(x.Outcome+" by "+x.Model) + "]\n" + x.Answer))
		}
		b.WriteString("\n")
	}
	return g.app.printf("%s", output.Clean(b.String()))
}

// indented places a text of several lines below its heading.
func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}
