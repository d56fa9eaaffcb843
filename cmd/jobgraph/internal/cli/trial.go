package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/internal/conformance"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/watch"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// trial holds the inputs for testing an expert.
type trial struct {
	goal     string
	inputs   []string
	level    string
	patience time.Duration
}

// testCommand runs one SubJob of an expert and nothing else; for a third-party worker it checks the contract.
func (g experts) testCommand() *cobra.Command {
	var t trial
	c := &cobra.Command{
		Use: "test NAME", Short: "Run one expert on a goal, and check that it keeps the contract", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch conformance.Level(t.level) {
			case "", conformance.Basic, conformance.Full:
			default:
				return usageError{fmt.Errorf("--level %q is none of: basic, full", t.level)}
			}
			if t.patience <= 0 {
				return usageError{fmt.Errorf("--patience %s: give a time such as 30s", t.patience)}
			}
			none := 0
			r := events.Request{Goal: t.goal, Limits: events.Limits{Retries: &none}, Labels: map[string]string{"test": "expert"}, Inputs: map[string]json.RawMessage{}}
			q := asked{inputs: t.inputs}
			if err := q.addInputs(&r); err != nil {
				return err
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error { return g.try(ctx, c, args[0], t, r) })
		},
	}
	c.Flags().StringVar(&t.goal, "goal", "Say what you can do", "the goal that it gets")
	c.Flags().StringArrayVar(&t.inputs, "input", nil, "named value, KEY=VALUE, JSON or text; repeatable")
	c.Flags().StringVar(&t.level, "level", "", "check the wire contract: basic or full (default for kind nats: basic)")
	c.Flags().DurationVar(&t.patience, "patience", 30*time.Second, "with a check of the contract: how long each piece of work may take")
	return c
}

// try runs the goal as a job, or checks the contract.
func (g experts) try(ctx context.Context, c *client.Client, name string, t trial, r events.Request) error {
	card, err := g.card(ctx, c, name)
	if err != nil {
		return err
	}
	if t.level == "" && card.Kind == "nats" {
		t.level = string(conformance.Basic)
	}
	if t.level != "" {
		return g.checkContract(ctx, c, card, t, r.Inputs)
	}
	r.Expert = card.ID
	id, err := c.Submit(ctx, r)
	if err != nil {
		return err
	}
	h, err := g.app.views.watch(ctx, c, id, 0, watch.Quiet)
	if err != nil {
		return err
	}
	return g.app.runs.finish(h, c, nil)
}

// checkContract prints one line per rule of the contract; a broken rule gives exit code 1.
func (g experts) checkContract(ctx context.Context, c *client.Client, card events.Card, t trial, inputs map[string]json.RawMessage) error {
	got, err := conformance.Run(ctx, c.Bus(), conformance.Settings{Card: card, Goal: t.goal, Inputs: inputs, Level: conformance.Level(t.level), Patience: t.patience})
	if err != nil {
		return err
	}
	table := output.Table{Head: []string{"RULE", "VERDICT", "DETAIL"}}
	for _, check := range got.Checks {
		table.Rows = append(table.Rows, output.Row{Name: check.Rule, Value: check, Cells: []string{check.Rule, string(check.Verdict), dash(check.Detail)}})
	}
	if err := g.app.write(table); err != nil {
		return err
	}
	if r := got.Report; r != nil {
		g.app.note("%s reported %s %s", card.Name, r.Outcome, short(string(r.Output), 80))
	}
	if conformance.Violations(got.Checks) {
		return outcome(ExitFailed)
	}
	return nil
}
