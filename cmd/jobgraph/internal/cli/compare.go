package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/internal/history"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
)

func (g forks) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff A B", Short: "Compare two jobs: plan, results, calls, tokens and time; exit 1 when they differ", Args: cobra.ExactArgs(2),
		Example: "  jobgraph fork last --before write --model large\n  jobgraph diff JOB last",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := g.app.form(); err != nil {
				return err
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				var sides [2]*side
				for i, arg := range args {
					job, err := jobOf("diff", arg, "jobgraph diff JOB OTHER", "jobgraph describe JOB/SUBJOB")
					if err != nil {
						return err
					}
					if sides[i], err = g.side(ctx, c, job); err != nil {
						return err
					}
				}
				return g.compare(sides[0], sides[1])
			})
		},
	}
}

// side is one of two jobs that are compared.
type side struct {
	JobID      string        `json:"job_id"`
	Status     events.Status `json:"status"`
	DurationMS int64         `json:"duration_ms"`
	cost
	Result json.RawMessage `json:"result,omitempty"`
	plan   *events.Plan
	steps  map[string]*account
	order  []string
}

// account is what one SubJob of a job came to, over all of its runs.
type account struct {
	Status     events.Status `json:"status"`
	Expert     string        `json:"expert,omitempty"`
	Runs       int           `json:"runs"`
	Calls      int           `json:"calls"`
	DurationMS int64         `json:"duration_ms"`
	cost
	// Given is true for a result that came with the plan.
	Given  bool            `json:"given,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	digest string          // Of a result that is kept by reference.
}

// side reads a job. Its SubJobs go by the names that a fork gives them, so that a job and its fork have the same.
func (g forks) side(ctx context.Context, c *client.Client, job string) (*side, error) {
	h, err := g.app.look(ctx, c, target{job: job})
	if err != nil {
		return nil, err
	}
	s := h.Job.View()
	j := g.app.views.standing(h, c)
	x := &side{JobID: s.ID, Status: s.Status, DurationMS: j.DurationMS, cost: j.cost, Result: j.Result, plan: &events.Plan{}, steps: map[string]*account{}}
	names := renamed(s)
	for _, n := range s.SubJobs {
		if !present(n) {
			continue
		}
		calls, err := c.Journals().Calls(ctx, s.ID, n.ID)
		if err != nil {
			return nil, err
		}
		name := names[n.ID]
		x.order, x.steps[name] = append(x.order, name), accountOf(h, n, len(calls))
		sub, _ := h.Text(n.Spec)
		step := events.SubJob{ID: name, Goal: sub.Goal, Context: sub.Context, CompletionCriteria: sub.CompletionCriteria, Expert: n.Expert, When: sub.When}
		for _, at := range n.Deps {
			if present(s.SubJobs[at]) {
				step.Dependencies = append(step.Dependencies, names[s.SubJobs[at].ID])
			}
		}
		x.plan.SubJobs = append(x.plan.SubJobs, step)
	}
	return x, nil
}

func accountOf(h *history.History, n *graph.SubJobState, calls int) *account {
	a := &account{Status: n.Status, Expert: n.Expert, Calls: calls, Given: n.Run == 0 && n.Status == events.Finished}
	for i := range h.Events {
		r, ok := h.Events[i].Data.(*events.SubJobReported)
		if !ok || h.Events[i].SubJob != n.ID {
			continue
		}
		a.Runs++
		a.DurationMS += r.DurationMS
		a.Tokens += r.Tokens
		a.CostUSD += r.CostUSD
	}
	result, ref := h.Result(n)
	if a.Result = result; ref != nil {
		a.digest = ref.Digest
	}
	return a
}

// comparison is what differs between two jobs.
type comparison struct {
	A    *side              `json:"a"`
	B    *side              `json:"b"`
	Plan planner.Difference `json:"plan"`
	// SubJobs are those that came to something else in one of them, in the order of A, then of B.
	SubJobs []deviation `json:"subjobs"`
}

// deviation is a SubJob that two jobs differ in; a job that does not have it has null.
type deviation struct {
	SubJob string   `json:"subjob"`
	A      *account `json:"a"`
	B      *account `json:"b"`
	// Fields says what differs: status, expert, runs, calls, tokens, result. Times always do, and are no difference.
	Fields []string `json:"fields"`
}

func (g forks) compare(a, b *side) error {
	d := comparison{A: a, B: b, Plan: planner.Diff(a.plan, b.plan), SubJobs: []deviation{}}
	for _, id := range slices.Concat(a.order, b.order) {
		known := slices.ContainsFunc(d.SubJobs, func(x deviation) bool { return x.SubJob == id })
		if fields := differing(a.steps[id], b.steps[id]); !known && len(fields) > 0 {
			d.SubJobs = append(d.SubJobs, deviation{id, a.steps[id], b.steps[id], fields})
		}
	}
	if err := g.writeComparison(&d); err != nil {
		return err
	}
	if !d.Plan.Empty() || len(d.SubJobs) > 0 || a.Status != b.Status || !sameResult(a.Result, b.Result) {
		return outcome(ExitFailed)
	}
	return nil
}

// differing names what differs between two accounts; both may be nil.
func differing(a, b *account) (fields []string) {
	if a == nil || b == nil {
		return []string{"presence"}
	}
	for _, f := range []struct {
		name string
		same bool
	}{
		{"status", a.Status == b.Status},
		{"expert", a.Expert == b.Expert},
		{"runs", a.Given || b.Given || a.Runs == b.Runs},
		{"calls", a.Given || b.Given || a.Calls == b.Calls},
		{"tokens", a.Given || b.Given || a.Tokens == b.Tokens},
		{"result", a.digest == b.digest && sameResult(a.Result, b.Result)},
	} {
		if !f.same {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// sameResult compares two values but for the blanks in them.
func sameResult(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return bytes.Equal(a, b) || json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

func (g forks) writeComparison(d *comparison) error {
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, d)
	}
	jobs := output.Table{Head: []string{"JOB", "STATUS", "TOOK", "TOKENS", "USD"}}
	for _, s := range []*side{d.A, d.B} {
		jobs.Rows = append(jobs.Rows, output.Row{Name: s.JobID, Value: s, Cells: []string{s.JobID, string(s.Status), milliseconds(s.DurationMS), fmt.Sprint(s.Tokens), fmt.Sprintf("%.4f", s.CostUSD)}})
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
			x.SubJob, strings.Join(x.Fields, ","), both(x, func(a *account) string { return milliseconds(a.DurationMS) }),
			both(x, func(a *account) string { return fmt.Sprint(a.Calls) }), both(x, func(a *account) string { return fmt.Sprint(a.Tokens) }),
			both(x, func(a *account) string { return short(strings.Join(strings.Fields(readable(a.Result)), " "), 60) }),
		}})
	}
	if err := g.app.printf("\n"); err != nil {
		return err
	}
	return g.app.write(steps)
}

// both is what two accounts say, once when it is the same.
func both(d *deviation, say func(*account) string) string {
	of := func(a *account) string {
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

func milliseconds(ms int64) string { return output.Span(time.Duration(ms) * time.Millisecond) }
