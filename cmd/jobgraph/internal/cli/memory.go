package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/memory"
)

// memories are the commands about what experts remember of users.
type memories struct{ app *app }

// command returns the commands about what experts remember.
func (g memories) command() *cobra.Command {
	return group("memory", "What experts remember about users: show, edit, forget, switch off",
		g.listCommand(), g.showCommand(), g.editCommand(), g.forgetCommand(),
		g.switchCommand("off", "Remember nothing, and use nothing that was remembered", true), g.switchCommand("on", "Remember again", false))
}

// remembered are the flags that name a record.
type remembered struct{ user, expert string }

func (r *remembered) declare(c *cobra.Command) {
	c.Flags().StringVar(&r.user, "user", "", "the user")
	c.Flags().StringVar(&r.expert, "expert", "", "the id of the expert")
}

// need checks that a user is named, and also an expert if expert is true.
func (r *remembered) need(expert bool) error {
	switch {
	case r.user == "":
		return usageError{errors.New("name the user: --user USER")}
	case expert && r.expert == "":
		return usageError{errors.New("name the expert: --expert ID")}
	}
	return nil
}

func (g memories) listCommand() *cobra.Command {
	var r remembered
	c := g.app.connected("list", "List who remembers something of whom", cobra.NoArgs, func(ctx context.Context, c *client.Client, _ []string) error {
		list, err := c.Knowledge().Memory().List(ctx, r.user)
		if err != nil {
			return err
		}
		table := output.Table{Head: []string{"USER", "EXPERT", "FACTS", "STATE"}}
		for i := range list {
			m := &list[i]
			if r.expert != "" && m.Expert != r.expert {
				continue
			}
			table.Rows = append(table.Rows, output.Row{
				Name: strings.TrimSuffix(m.User+"/"+m.Expert, "/"), Value: m, Cells: []string{m.User, dash(m.Expert), fmt.Sprint(len(m.Facts)), onOff(m.Off)},
			})
		}
		if len(table.Rows) == 0 && !g.app.machine() && g.app.output != "name" {
			g.app.note("nothing is remembered")
			return nil
		}
		return g.app.write(table)
	})
	c.Aliases = []string{"ls"}
	r.declare(c)
	return c
}

func onOff(off bool) string {
	if off {
		return "off"
	}
	return "on"
}

func (g memories) showCommand() *cobra.Command {
	var r remembered
	c := g.app.connected("show", "Show what an expert remembers of a user", cobra.NoArgs, func(ctx context.Context, c *client.Client, _ []string) error {
		if err := r.need(true); err != nil {
			return err
		}
		record, err := c.Knowledge().Memory().Show(ctx, r.user, r.expert)
		if err != nil {
			return err
		}
		if record.Off {
			g.app.note("memory is off for this expert: nothing of it is used")
		}
		return g.app.write(factTable(record.Facts))
	})
	r.declare(c)
	return c
}

func factTable(facts []memory.Fact) output.Table {
	table := output.Table{Head: []string{"ID", "AT", "JOB", "FACT"}}
	for _, f := range facts {
		table.Rows = append(table.Rows, output.Row{Name: f.ID, Value: f, Cells: []string{f.ID, moment(f.At), dash(f.Job), f.Text}})
	}
	return table
}

func (g memories) editCommand() *cobra.Command {
	var r remembered
	c := g.app.connected("edit ID TEXT…", "Change a fact", cobra.MinimumNArgs(2), func(ctx context.Context, c *client.Client, args []string) error {
		if err := r.need(true); err != nil {
			return err
		}
		fact, err := c.Knowledge().Memory().Edit(ctx, r.user, r.expert, args[0], strings.Join(args[1:], " "))
		if err != nil {
			return err
		}
		return g.app.write(factTable([]memory.Fact{fact}))
	})
	r.declare(c)
	return c
}

func (g memories) forgetCommand() *cobra.Command {
	var r remembered
	var all bool
	c := g.app.connected("forget [ID…]", "Forget facts", cobra.ArbitraryArgs, func(ctx context.Context, c *client.Client, args []string) error {
		if err := r.need(len(args) > 0); err != nil {
			return err
		}
		if all == (len(args) > 0) {
			return usageError{errors.New("name the ids of facts, or give --all")}
		}
		if all {
			args = []string{""}
		}
		gone := 0
		for _, id := range args {
			n, err := c.Knowledge().Memory().Forget(ctx, r.user, r.expert, id)
			if err != nil {
				return err
			}
			gone += n
		}
		return g.app.printf("%d forgotten\n", gone)
	})
	r.declare(c)
	c.Flags().BoolVar(&all, "all", false, "forget everything of the user, or of the user and the expert")
	return c
}

func (g memories) switchCommand(use, short string, off bool) *cobra.Command {
	var r remembered
	c := g.app.connected(use, short, cobra.NoArgs, func(ctx context.Context, c *client.Client, _ []string) error {
		if err := r.need(false); err != nil {
			return err
		}
		if err := c.Knowledge().Memory().Switch(ctx, r.user, r.expert, off); err != nil {
			return err
		}
		return g.app.printf("memory of %s is %s\n", strings.TrimSuffix(r.user+"/"+r.expert, "/"), onOff(off))
	})
	r.declare(c)
	return c
}
