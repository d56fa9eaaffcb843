package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/pkg/client"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
)

// mostOffered limits the jobs that a completion offers; the newest count.
const mostOffered = 100

// offer returns completions read from the bus, or none if that fails: a shell cannot show errors here.
func (a *app) offer(prefix string, list func(ctx context.Context, c *client.Client) ([]cobra.Completion, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	if err := a.check(a); err == nil { // No command has resolved the settings before.
		if c, err := a.connect(); err == nil {
			defer c.Close()
			found, _ = list(a.soft, c)
		}
	}
	found = slices.DeleteFunc(found, func(s cobra.Completion) bool { return !strings.HasPrefix(s, prefix) })
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeJob offers the ids of jobs, newest first, with their goals.
func (a *app) completeJob(cmd *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) >= jobArguments(cmd.Name()) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return a.offer(prefix, func(ctx context.Context, c *client.Client) (list []cobra.Completion, err error) {
		jobs, err := c.List(ctx, client.Query{Limit: mostOffered})
		for _, j := range jobs {
			list = append(list, cobra.CompletionWithDesc(j.ID, strings.ToLower(string(j.Status))+": "+short(j.Goal, 40)))
		}
		return list, err
	})
}

// completeExpert offers the experts in the catalogue.
func (a *app) completeExpert(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.offer(prefix, func(ctx context.Context, c *client.Client) (list []cobra.Completion, err error) {
		cards, err := c.Experts().List(ctx)
		for i := range cards {
			list = append(list, cobra.CompletionWithDesc(cards[i].ID, short(cards[i].Description, 60)))
		}
		return list, err
	})
}

// completeFlags registers completions for flag values.
func (a *app) completeFlags(c *cobra.Command) {
	for _, child := range c.Commands() {
		a.completeFlags(child)
	}
	for flag, complete := range map[string]cobra.CompletionFunc{"expert": a.completeExpert, "profile": completeProfile} {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, complete) // It fails if the flag does not exist or has a completion already.
		}
	}
}

// completeProfile offers the built-in profiles of the planner.
func completeProfile(_ *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names := slices.DeleteFunc(planner.Profiles(), func(name string) bool { return !strings.HasPrefix(name, prefix) })
	return names, cobra.ShellCompDirectiveNoFileComp
}
