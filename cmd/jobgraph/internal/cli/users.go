package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/client"
)

// users are the commands about settings of users.
type users struct{ app *app }

func (g users) command() *cobra.Command {
	return group("users", "Settings of the people for whom jobs run", g.showCommand(), g.setCommand())
}

func (g users) showCommand() *cobra.Command {
	return g.app.connected("show USER", "Show the settings of a user", cobra.ExactArgs(1), func(ctx context.Context, c *client.Client, args []string) error {
		u, err := c.Sessions().User(ctx, args[0])
		if err != nil {
			return err
		}
		return g.write(u)
	})
}

func (g users) setCommand() *cobra.Command {
	var zone string
	c := g.app.connected("set USER", "Change the settings of a user", cobra.ExactArgs(1), nil)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if !c.Flags().Changed("timezone") {
			return usageError{errors.New("nothing is to be set: use --timezone")}
		}
		return g.app.with(func(ctx context.Context, c *client.Client) error {
			u, err := c.Sessions().SetTimezone(ctx, args[0], zone)
			if err != nil {
				return err
			}
			return g.write(u)
		})
	}
	c.Flags().StringVar(&zone, "timezone", "", "time zone of requests and sessions that name none, Europe/Berlin; empty for none")
	return c
}

func (g users) write(u *client.User) error {
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, u)
	}
	return g.app.write(output.Table{
		Head: []string{"USER", "TIMEZONE", "UPDATED"},
		Rows: []output.Row{{Name: u.ID, Value: u, Cells: []string{u.ID, dash(u.Timezone), moment(u.Updated)}}},
	})
}
