package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/render"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func (a *app) expertsCommand() *cobra.Command {
	builtin := false
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the experts that runners announce", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.form(); err != nil {
				return err
			}
			if builtin {
				return a.writeCards(runner.Builtin())
			}
			return a.with(func(ctx context.Context, c *client.Client) error {
				cards, err := c.Experts(ctx)
				if err != nil {
					return err
				}
				if len(cards) == 0 && !a.machine() && a.output != "name" {
					a.note("no expert is announced; start a runner with --experts FOLDER")
					return nil
				}
				return a.writeCards(cards)
			})
		},
	}
	list.Flags().BoolVar(&builtin, "builtin", false, "list the experts that come with the program: they work where there is a model and no other expert")
	describe := &cobra.Command{
		Use: "describe NAME", Short: "Show an expert's card", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.with(func(ctx context.Context, c *client.Client) error {
				card, err := a.card(ctx, c, args[0])
				if err != nil {
					return err
				}
				form := a.output
				if !a.machine() {
					form = "yaml"
				}
				return render.Value(a.sys.Stdout, form, card)
			})
		},
	}
	check := &cobra.Command{
		Use: "check FILE…", Short: "Check expert cards, and those of configuration files (*.yaml), and find their programs", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.form(); err != nil {
				return err
			}
			cards, err := runner.CheckCards(args, a.sys.Env)
			if err != nil {
				return err
			}
			return a.writeCards(cards)
		},
	}
	return group("experts", "The catalogue of experts", list, describe, check, a.expertRegisterCommand(), a.expertWithdrawCommand(), a.expertTestCommand())
}

func (a *app) writeCards(cards []events.Card) error {
	table := render.Table{Head: []string{"ID", "NAME", "KIND", "POOL", "DESCRIPTION"}, WideHead: []string{"SKILLS", "TAGS", "SANDBOX", "AT ONCE", "PURE", "RUNNER", "SEEN"}}
	for _, c := range cards {
		level, _, tags := boxOf(&c)
		pool := c.Pool
		if pool == "" {
			pool = events.DefaultPool
		}
		table.Rows = append(table.Rows, render.Row{
			Name: c.ID, Value: c, Cells: []string{c.ID, c.Name, c.Kind, pool, short(c.Description, 70)},
			Wide: []string{dash(strings.Join(c.Skills, ",")), dash(strings.Join(tags, ",")), dash(level), atOnce(c.Concurrency), fmt.Sprint(c.Pure), dash(c.Runner), a.alive(c.Seen)},
		})
	}
	return table.Write(a.sys.Stdout, a.output)
}

// boxOf reads what a runner says of the sandbox of an expert's program: the level in force, empty where there is no program or
// nobody says so, and why it is no stricter one. tags are the others.
func boxOf(card *events.Card) (level, why string, tags []string) {
	for _, tag := range card.Tags {
		said, is := strings.CutPrefix(tag, events.SandboxTag)
		if !is {
			tags = append(tags, tag)
			continue
		}
		level, why, _ = strings.Cut(said, " ")
	}
	return level, why, tags
}

// card finds an expert by id or name.
func (a *app) card(ctx context.Context, c *client.Client, name string) (events.Card, error) {
	cards, err := c.Experts(ctx)
	if err != nil {
		return events.Card{}, err
	}
	var ids []string
	for _, card := range cards {
		if strings.EqualFold(card.ID, name) || strings.EqualFold(card.Name, name) {
			return card, nil
		}
		ids = append(ids, card.ID)
	}
	return events.Card{}, notFound("expert", name, host.Near(strings.ToLower(name), ids))
}

// atOnce is how many runs of an expert one runner works on.
func atOnce(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
