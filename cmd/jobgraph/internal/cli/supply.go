package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// supplies are the commands about what work depends on: budgets, pools, models.
type supplies struct{ app *app }

func (g supplies) budgetsCommand() *cobra.Command {
	var session string
	c := g.app.connected("budgets [JOB]", "Show what is spent of which budget, and when it renews", cobra.MaximumNArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
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
			l.Scope, dash(l.ID), amount(l.Spent), amount(l.Limit), amount(l.Left), moment(l.Renews),
		}})
	}
	if len(table.Rows) == 0 && !g.app.machine() && g.app.output != "name" {
		g.app.note("no budget is set: `budgets` of jobgraph.yaml sets them for the scheduler")
		return nil
	}
	return g.app.write(table)
}

// amount shows tokens and money; "-" if both are zero.
func amount(s events.Spent) string {
	var parts []string
	if s.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens", s.Tokens))
	}
	if s.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("%.4f USD", s.CostUSD))
	}
	return dash(strings.Join(parts, ", "))
}

func (g supplies) poolsCommand() *cobra.Command {
	return g.app.connected("pools", "List pools of work: what waits, what is in hand, whether workers read them", cobra.NoArgs, func(ctx context.Context, c *client.Client, _ []string) error {
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
	})
}

// number shows a number that may be absent.
func number(n int) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(n)
}

func (g supplies) modelsCommand() *cobra.Command {
	return g.app.connected("models", "List the models of a planner with prices, limits and the room that is left", cobra.NoArgs, func(ctx context.Context, c *client.Client, _ []string) error {
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
