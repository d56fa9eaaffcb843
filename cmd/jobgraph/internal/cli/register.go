package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/pkg/client"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func (a *app) expertRegisterCommand() *cobra.Command {
	var ttl time.Duration
	c := &cobra.Command{
		Use: "register FILE…", Short: "Put cards of kind nats into the catalogue, for workers that serve themselves", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if ttl != 0 && ttl < time.Second {
				return usageError{fmt.Errorf("--ttl %s: use at least 1s, or none", ttl)}
			}
			cards, err := runner.CheckCards(args, a.sys.Env)
			if err != nil {
				return err
			}
			return a.with(func(ctx context.Context, c *client.Client) error {
				for _, card := range cards {
					if err := c.Register(ctx, card, ttl); err != nil {
						return err
					}
					if err := a.printf("%s registered\n", card.ID); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().DurationVar(&ttl, "ttl", 0, "the card vanishes after this time unless it is registered again; for ever without it")
	return c
}

func (a *app) expertWithdrawCommand() *cobra.Command {
	return &cobra.Command{
		Use: "withdraw NAME", Short: "Take a registered card out of the catalogue", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.with(func(ctx context.Context, c *client.Client) error {
				card, err := a.card(ctx, c, args[0])
				if err != nil {
					return err
				}
				if err := c.Withdraw(ctx, card.ID); err != nil {
					return err
				}
				return a.printf("%s withdrawn\n", card.ID)
			})
		},
	}
}

// alive says when a card was last announced; it vanishes when that does not go on.
func (a *app) alive(seen time.Time) string {
	if seen.IsZero() {
		return "-"
	}
	return max(0, a.now().Sub(seen)).Round(time.Second).String() + " ago"
}
