package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/host"
	gateway "github.com/jobgraph/jobgraph/services/gateway/app"
)

// mcpCommand serves a client of the Model Context Protocol. Standard output carries only the protocol; everything else goes to
// standard error, which such clients keep as a log.
func (g operations) mcpCommand() *cobra.Command {
	var user string
	c := &cobra.Command{
		Use: "mcp", Short: "Serve an MCP client, such as a chat program, over standard input and output", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if user == "" && g.app.by() != "" { // Otherwise the user of the key counts.
				user, _ = g.app.sys.Env("USER")
			}
			return g.app.with(func(ctx context.Context, c *client.Client) error {
				err := gateway.ServeMCP(ctx, c, gateway.MCP{
					In: io.NopCloser(g.app.sys.Stdin), Out: open{g.app.sys.Stdout}, User: user, Version: host.ReadBuild("jobgraph").Version,
					Log: slog.New(slog.NewTextHandler(g.app.sys.Stderr, nil)),
				})
				if errors.Is(err, io.EOF) || ctx.Err() != nil && errors.Is(err, context.Canceled) {
					return nil // The client has disconnected, or has ended the program.
				}
				return err
			})
		},
	}
	c.Flags().StringVar(&user, "user", "", "the user for whom jobs are submitted and questions answered (of the key of NATS_NKEY, or USER of the environment)")
	return c
}

// open is an output whose Close does nothing.
type open struct{ io.Writer }

// Close implements io.Closer.
func (open) Close() error { return nil }
