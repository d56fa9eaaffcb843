package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// experts are the commands about experts and their tools.
type experts struct{ app *app }

func (g experts) command() *cobra.Command {
	builtin := false
	list := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the experts that runners announce", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if builtin {
				return g.list(runner.Builtin())
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				cards, err := c.Experts().List(ctx)
				if err != nil {
					return err
				}
				expired, err := c.Experts().Expired(ctx)
				if err != nil {
					return err
				}
				for _, x := range expired {
					g.app.note("%s", expiredText(x))
				}
				if len(cards) == 0 && !g.app.machine() && g.app.output != "name" {
					g.app.note("no expert is announced; start a runner with --experts FOLDER")
					return nil
				}
				return g.list(cards)
			})
		},
	}
	list.Flags().BoolVar(&builtin, "builtin", false, "list the built-in experts: up and run use them if there is a model and no other expert, a runner with --experts builtin")
	describe := &cobra.Command{
		Use: "describe NAME", Short: "Show an expert's card", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				card, err := g.card(ctx, c, args[0])
				if err != nil {
					return err
				}
				form := g.app.output
				if !g.app.machine() {
					form = "yaml"
				}
				return output.Value(g.app.sys.Stdout, form, card)
			})
		},
	}
	check := &cobra.Command{
		Use: "check FILE…", Short: "Check expert cards, and those of configuration files (*.yaml), and find their programs", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cards, err := runner.CheckCards(args, g.app.sys.Env)
			if err != nil {
				return err
			}
			if err := g.list(cards); err != nil {
				return err
			}
			return g.lacking(cards)
		},
	}
	return group("experts", "The catalogue of experts", list, describe, g.copyCommand(), check, g.registerCommand(), g.withdrawCommand(), g.testCommand())
}

func (g experts) list(cards []events.Card) error {
	table := output.Table{Head: []string{"ID", "NAME", "KIND", "POOL", "DESCRIPTION"}, WideHead: []string{"SKILLS", "TAGS", "SANDBOX", "AT ONCE", "PURE", "RUNNER", "SEEN"}}
	for _, c := range cards {
		level, _, tags := boxOf(&c)
		pool := c.Pool
		if pool == "" {
			pool = events.DefaultPool
		}
		table.Rows = append(table.Rows, output.Row{
			Name: c.ID, Value: c, Cells: []string{c.ID, c.Name, c.Kind, pool, short(c.Description, 70)},
			Wide: []string{dash(strings.Join(c.Skills, ",")), dash(strings.Join(tags, ",")), dash(level), atOnce(c.Concurrency), fmt.Sprint(c.Pure), dash(c.Runner), g.alive(c.Seen)},
		})
	}
	return g.app.write(table)
}

// expiredText says that the card of an expert has expired, how long ago, and what follows.
func expiredText(x client.ExpiredCard) string {
	return fmt.Sprintf("%s: it was not announced in time, its card expired %s ago; work for it waits, and 30 s after that plans no longer know it", x.ID, time.Since(x.At).Round(time.Second))
}

// lacking lists the tools of cards that this machine does not offer, with the reason.
func (g experts) lacking(cards []events.Card) error {
	for _, c := range cards {
		for _, tag := range c.Tags {
			said, is := strings.CutPrefix(tag, events.ToolsTag)
			if !is {
				continue
			}
			names, why, _ := strings.Cut(said, " ")
			if _, err := fmt.Fprintf(g.app.sys.Stderr, "%s is not offered %s here: %s\n", c.ID, names, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// boxOf reads the sandbox of an expert's program from its card: the level, "" if there is no program or the card does not
// say, and why it is not stricter. tags are the remaining tags.
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
func (g experts) card(ctx context.Context, c *client.Client, name string) (events.Card, error) {
	cards, err := c.Experts().List(ctx)
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
	return events.Card{}, notFound("expert", name, host.Near(strings.ToLower(name), ids), "jobgraph experts list")
}

// atOnce describes how many runs of an expert one runner executes concurrently.
func atOnce(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
