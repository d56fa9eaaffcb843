package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func (g experts) registerCommand() *cobra.Command {
	var ttl time.Duration
	c := &cobra.Command{
		Use: "register FILE…", Short: "Add cards of kind nats to the catalogue, for workers of your own", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if ttl != 0 && ttl < time.Second {
				return usageError{fmt.Errorf("--ttl %s: use at least 1s, or none", ttl)}
			}
			cards, err := runner.CheckCards(args, g.app.sys.Env)
			if err != nil {
				return err
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				for _, card := range cards {
					if err := c.Experts().Register(ctx, card, ttl); err != nil {
						return err
					}
					if err := g.changed(card.ID, "registered"); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().DurationVar(&ttl, "ttl", 0, "remove the card after this time unless it is registered again (default: keep it)")
	return c
}

func (g experts) withdrawCommand() *cobra.Command {
	return &cobra.Command{
		Use: "withdraw NAME", Short: "Remove a registered card from the catalogue", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				card, err := g.card(ctx, c, args[0])
				if err != nil {
					return err
				}
				if err := c.Experts().Withdraw(ctx, card.ID); err != nil {
					return err
				}
				return g.changed(card.ID, "withdrawn")
			})
		},
	}
}

// changed says what was done to a card.
func (g experts) changed(id, what string) error {
	switch {
	case g.app.machine():
		return output.Value(g.app.sys.Stdout, g.app.output, map[string]any{"id": id, what: true})
	case g.app.output == "name":
		return g.app.printf("%s\n", id)
	}
	return g.app.printf("%s %s\n", id, what)
}

// alive says when a card was last announced; it expires unless it is announced again.
func (g experts) alive(seen time.Time) string {
	if seen.IsZero() {
		return "-"
	}
	return max(0, g.app.now().Sub(seen)).Round(time.Second).String() + " ago"
}
