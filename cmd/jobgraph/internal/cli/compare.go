package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

func (g forks) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff A B", Short: "Compare two jobs: plan, results, calls, tokens and time; exit 1 if they differ", Args: cobra.ExactArgs(2),
		Example: "  jobgraph fork last --before write --model large\n  jobgraph diff JOB last",
		RunE: func(_ *cobra.Command, args []string) error {
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				var sides [2]*joblog.Account
				for i, arg := range args {
					job, err := jobOf("diff", arg, "jobgraph diff JOB OTHER", "jobgraph describe JOB/SUBJOB")
					if err != nil {
						return err
					}
					if sides[i], err = g.side(ctx, c, job); err != nil {
						return err
					}
				}
				d := joblog.Compare(sides[0], sides[1])
				if err := g.writeComparison(d); err != nil || d.Same() {
					return err
				}
				return outcome(ExitFailed)
			})
		},
	}
}

// side reads one of the two jobs to compare.
func (g forks) side(ctx context.Context, c *client.Client, job string) (*joblog.Account, error) {
	log, err := g.app.look(ctx, c, target{job: job})
	if err != nil {
		return nil, err
	}
	calls := func(subjob string) ([]joblog.Call, error) { return c.Journals().CallsOf(ctx, log, subjob) }
	return log.Account(calls, g.app.views.payloads(c, log.Job.ID))
}

func (g forks) writeComparison(d *joblog.Comparison) error {
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, d)
	}
	jobs := output.Table{Head: []string{"JOB", "STATUS", "TOOK", "TOKENS", "USD"}}
	for _, s := range []*joblog.Account{d.A, d.B} {
		jobs.Rows = append(jobs.Rows, output.Row{Name: s.JobID, Value: s, Cells: []string{s.JobID, string(s.Status), took(s), fmt.Sprint(s.Tokens), fmt.Sprintf("%.4f", s.CostUSD)}})
	}
	if err := g.app.write(jobs); err != nil || g.app.output == "name" {
		return err
	}
	if !d.Plan.Empty() {
		if err := g.app.printf("\nplan\n"); err != nil {
			return err
		}
		if err := g.app.plans.writeDiff(&d.Plan); err != nil {
			return err
		}
	}
	if len(d.SubJobs) == 0 {
		return g.app.printf("\nno SubJob came to anything else\n")
	}
	steps := output.Table{Head: []string{"SUBJOB", "DIFFERS IN", "TOOK", "CALLS", "TOKENS", "RESULT"}}
	for i := range d.SubJobs {
		x := &d.SubJobs[i]
		steps.Rows = append(steps.Rows, output.Row{Name: x.SubJob, Value: x, Cells: []string{
			x.SubJob, strings.Join(x.Fields, ","), both(x, tookInRuns),
			both(x, func(a *joblog.SubJobAccount) string { return fmt.Sprint(a.Calls) }), both(x, func(a *joblog.SubJobAccount) string { return fmt.Sprint(a.Tokens) }),
			both(x, func(a *joblog.SubJobAccount) string {
				return short(strings.Join(strings.Fields(readable(a.Result)), " "), 60)
			}),
		}})
	}
	if err := g.app.printf("\n"); err != nil {
		return err
	}
	return g.app.write(steps)
}

// both joins the descriptions of the two jobs, or returns one if they are equal.
func both(d *joblog.Deviation, say func(*joblog.SubJobAccount) string) string {
	of := func(a *joblog.SubJobAccount) string {
		switch {
		case a == nil:
			return "none"
		case a.Given:
			return "given"
		}
		return dash(say(a))
	}
	if a, b := of(d.A), of(d.B); a != b {
		return a + " → " + b
	}
	return of(d.A)
}

// took returns how long a job has taken, "-" while it has not ended.
func took(a *joblog.Account) string {
	if !a.Status.Terminal() {
		return "-"
	}
	return milliseconds(a.DurationMS)
}

// tookInRuns returns how long the runs of a SubJob have taken, "" while none has ended.
func tookInRuns(a *joblog.SubJobAccount) string {
	if a.Runs == 0 {
		return ""
	}
	return milliseconds(a.DurationMS)
}

func milliseconds(ms int64) string { return output.Span(time.Duration(ms) * time.Millisecond) }
