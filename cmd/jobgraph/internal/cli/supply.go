package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// supplies are the commands about what work depends on: budgets, pools, models.
type supplies struct{ app *app }

func (g supplies) budgetsCommand() *cobra.Command {
	var session string
	c := g.app.connected("budgets [JOB]", "Show budgets: what is spent, what is left, and when they renew", cobra.MaximumNArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		job := ""
		if len(args) > 0 {
			job = args[0]
		}
		lines, err := client.SupplyOf(c).Budgets(ctx, job, session)
		if err != nil {
			return err
		}
		return g.writeBudgets(lines)
	})
	c.Flags().StringVar(&session, "session", "", "also the budget of this session")
	return c
}

func (g supplies) writeBudgets(lines []verb.BudgetLine) error {
	table := output.Table{Head: []string{"SCOPE", "ID", "SPENT", "LIMIT", "LEFT", "RENEWS"}}
	for _, l := range lines {
		table.Rows = append(table.Rows, output.Row{Name: strings.TrimSpace(l.Scope + " " + l.ID), Value: l, Cells: []string{
			l.Scope, dash(l.ID), dash(spent(l.Spent)), dash(spent(l.Limit)), dash(spent(l.Left)), moment(l.Renews),
		}})
	}
	if len(table.Rows) == 0 && !g.app.machine() && g.app.output != "name" {
		g.app.note("no budget is set: `budgets` of jobgraph.yaml sets them for the scheduler")
		return nil
	}
	return g.app.write(table)
}

func (g supplies) poolsCommand() *cobra.Command {
	var runs, runners bool
	c := g.app.connected("pools", "List pools of work: what is waiting, what is executing, whether workers read them", cobra.NoArgs, func(ctx context.Context, c *client.Client, _ []string) error {
		switch {
		case runs && runners:
			return usageError{errors.New("give --runs or --runners, not both")}
		case runs:
			return g.writeRuns(ctx, c)
		case runners:
			return g.writeRunners(ctx, c)
		}
		return g.writePools(ctx, c)
	})
	c.Flags().BoolVar(&runs, "runs", false, "list the runs that runners are executing instead, and when their leases end")
	c.Flags().BoolVar(&runners, "runners", false, "list the runners instead, with their experts and the tools that agents lack there")
	return c
}

func (g supplies) writePools(ctx context.Context, c *client.Client) error {
	pools, err := client.SupplyOf(c).Pools(ctx)
	if err != nil {
		return err
	}
	table := output.Table{Head: []string{"POOL", "WAITING", "IN HAND", "AGAIN", "READERS", "LIMIT", "EXPERTS"}}
	for _, p := range pools {
		name := p.Pool
		if p.Batches {
			name += " (batches)"
		}
		table.Rows = append(table.Rows, output.Row{Name: p.Pool, Value: p, Cells: []string{
			name, strconv.FormatUint(p.Waiting, 10), strconv.Itoa(p.InHand), strconv.Itoa(p.Again), strconv.Itoa(p.Readers), number(p.Limit), dash(strings.Join(p.Experts, ", ")),
		}})
	}
	return g.app.write(table)
}

func (g supplies) writeRuns(ctx context.Context, c *client.Client) error {
	list, err := client.SupplyOf(c).Runs(ctx, verb.RunQuery{})
	if err != nil {
		return err
	}
	table := output.Table{Head: []string{"JOB", "SUBJOB", "RUN", "ATTEMPT", "EXPERT", "POOL", "SINCE", "LEASE UNTIL", "RUNNER"}}
	for _, r := range list.Runs {
		table.Rows = append(table.Rows, output.Row{Name: fmt.Sprintf("%s/%s/%d", r.JobID, r.SubJob, r.Run), Value: r, Cells: []string{
			r.JobID, r.SubJob, strconv.Itoa(r.Run), strconv.Itoa(r.Attempt), r.Expert, r.Pool, moment(r.Since), moment(r.LeaseUntil), r.Runner,
		}})
	}
	if missing := list.Total - len(list.Runs); missing > 0 {
		g.app.note("%d more runs are in hand", missing)
	}
	return g.app.write(table)
}

func (g supplies) writeRunners(ctx context.Context, c *client.Client) error {
	runners, err := client.SupplyOf(c).Runners(ctx)
	if err != nil {
		return err
	}
	table := output.Table{Head: []string{"RUNNER", "VERSION", "POOLS", "IN HAND", "AT ONCE", "EXPERTS", "LACKS"}}
	for _, r := range runners {
		var experts, lacks []string
		for _, x := range r.Experts {
			experts = append(experts, x.ID)
			for _, l := range x.Lacks {
				lacks = append(lacks, x.ID+": "+l.Tool)
			}
		}
		table.Rows = append(table.Rows, output.Row{Name: r.Runner, Value: r, Cells: []string{
			r.Runner, r.Version, strings.Join(r.Pools, ", "), strconv.Itoa(r.InHand), strconv.Itoa(r.Concurrency), dash(strings.Join(experts, ", ")), dash(strings.Join(lacks, ", ")),
		}})
	}
	return g.app.write(table)
}

// number shows a number that may be absent.
func number(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

func (g supplies) modelsCommand() *cobra.Command {
	return g.app.connected("models", "List the models of a planner with prices, limits and what is left of them", cobra.NoArgs, func(ctx context.Context, c *client.Client, _ []string) error {
		models, err := client.SupplyOf(c).Models(ctx)
		if err != nil {
			return err
		}
		table := output.Table{Head: []string{"NAME", "MODEL", "AT", "USD PER MILLION IN/OUT", "ROOM"}, WideHead: []string{"FALLBACK"}}
		for i := range models {
			m := &models[i]
			name, price := m.Name, "-"
			if m.Default {
				name += " (default)"
			}
			if m.Price != nil {
				price = fmt.Sprintf("%g/%g", m.Price.Prompt, m.Price.Completion)
			}
			table.Rows = append(table.Rows, output.Row{Name: m.Name, Value: m, Cells: []string{name, m.Model, dash(m.Host), price, room(m)}, Wide: []string{dash(strings.Join(m.Fallback, ", "))}})
		}
		if len(table.Rows) == 0 && !g.app.machine() && g.app.output != "name" {
			g.app.note("the planner has no model of a configuration")
			return nil
		}
		return g.app.write(table)
	})
}

// room shows what is left of a model's limits at this moment.
func room(m *verb.ConfiguredModel) string {
	if m.Room == nil {
		return "no limit"
	}
	var parts []string
	for _, p := range []struct {
		left *int
		of   int
		what string
	}{{m.Room.Slots, m.Limits.Concurrency, "slots"}, {m.Room.Requests, m.Limits.RequestsPerMinute, "requests"}, {m.Room.Tokens, m.Limits.TokensPerMinute, "tokens"}} {
		if p.left != nil {
			parts = append(parts, fmt.Sprintf("%d of %d %s", *p.left, p.of, p.what))
		}
	}
	if !m.Room.Closed.IsZero() {
		parts = append(parts, "closed until "+moment(m.Room.Closed))
	}
	return strings.Join(parts, ", ")
}
