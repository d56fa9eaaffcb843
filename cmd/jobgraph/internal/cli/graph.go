package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

func (g views) graphCommand() *cobra.Command {
	var form, file string
	forms := append(drawing.Formats(), "json", deerGo)
	c := &cobra.Command{
		Use: "graph ID | graph -f PLAN", Short: "Draw a JobGraph", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case !slices.Contains(forms, form):
				return usageError{fmt.Errorf("-o %q: use one of %s", form, strings.Join(forms, ", "))}
			case (len(args) == 1) == (file != ""):
				return usageError{fmt.Errorf("name a job or, with -f, a plan")}
			case file != "" && form == deerGo:
				return usageError{fmt.Errorf("-o %s shows what came of the plan of a job: name one", deerGo)}
			case file != "":
				return g.app.plans.draw(file, form)
			}
			job, err := jobOf("graph", args[0], "jobgraph graph JOB draws all of it")
			if err != nil {
				return err
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				h, err := g.app.look(ctx, c, target{job: job})
				if err != nil {
					return err
				}
				if f := aside(h); f != nil {
					g.app.note("%s", reason(f))
				}
				if form == deerGo {
					return g.research(h, c)
				}
				return g.draw(jobPicture(h), form)
			})
		},
	}
	c.Flags().StringVarP(&form, "output", "o", "ascii", "form: "+strings.Join(forms, ", "))
	c.Flags().StringVarP(&file, "file", "f", "", "a plan, or a job with a plan, instead of a job on the bus")
	return c
}

func (g views) draw(layout drawing.Graph, form string) error {
	if form == "json" {
		return output.Value(g.app.sys.Stdout, form, layout)
	}
	width, _, _ := g.app.size()
	return drawing.Draw(g.app.sys.Stdout, layout, form, width)
}

// deerGo is the form of a plan in deer-go, with the results of its steps.
const deerGo = "deer-go"

func (g views) research(h *joblog.Log, c *client.Client) error {
	p := h.Executed()
	if p == nil {
		return &events.Fault{Code: events.CodeConflict, Message: "job " + h.Job.ID + " has no plan yet", Hint: "jobgraph why " + h.Job.ID}
	}
	return output.Value(g.app.sys.Stdout, "json", joblog.ResearchOf(p, g.payloads(c, h.Job.ID)))
}

// jobPicture returns the present graph of a job.
func jobPicture(h *joblog.Log) drawing.Graph {
	s := h.Job.View()
	g := drawing.Graph{Title: s.Title, Nodes: []drawing.Node{}}
	if g.Title == "" {
		g.Title = short(s.Goal, 100)
	}
	for _, n := range s.SubJobs {
		if n.ID == events.PlanID || n.Status == events.Legacy {
			continue
		}
		node := drawing.Node{ID: n.ID, Title: n.Title, Expert: n.Expert, Status: string(n.Status)}
		if n.Skipped {
			node.Status = "SKIPPED"
		}
		if n.Status == events.Finished {
			r := h.Result(n)
			node.ExecutionRes, node.ExecutionRef = r.Output, r.Ref
		}
		for _, at := range n.Deps {
			node.Dependencies = append(node.Dependencies, s.SubJobs[at].ID)
		}
		g.Nodes = append(g.Nodes, node)
	}
	return g
}

// planPicture returns the graph of a plan that was not run.
func planPicture(p *events.Plan) drawing.Graph {
	g := drawing.Graph{Title: p.Title, Nodes: []drawing.Node{}}
	for i := range p.SubJobs {
		s := &p.SubJobs[i]
		expert := s.ExpertName
		if expert == "" {
			expert = s.Expert
		}
		g.Nodes = append(g.Nodes, drawing.Node{ID: s.ID, Title: s.Title, Expert: expert, Dependencies: s.Dependencies})
	}
	return g
}
