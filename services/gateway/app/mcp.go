package app

import (
	"context"
	"io"
	"log/slog"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
	"github.com/jobgraph/jobgraph/services/gateway/internal/mcp"
	"github.com/jobgraph/jobgraph/services/gateway/internal/route"
)

// MCP is a client of the Model Context Protocol at the other end of two streams, such as the standard input and output of a program.
type MCP struct {
	// In and Out are the streams.
	In  io.ReadCloser
	Out io.WriteCloser
	// User is the user in whose name it asks. It may do everything that the connection to the bus permits.
	User string
	// Version is the version of the program.
	Version string
	// Log gets who did what, and protocol errors.
	Log *slog.Logger
}

// ServeMCP serves a client until it closes its stream or ctx ends. Errors: those of reading and writing.
func ServeMCP(ctx context.Context, c *client.Client, m MCP) error {
	s := Default()
	keeper, who := identity.Alone(m.User)
	g := route.New(ctx, route.Settings{
		Client: c, Guard: &identity.Guard{Keeper: keeper}, Body: int64(s.MaxBody) << 10, Streams: s.Streams, Beat: s.Heartbeat, Write: s.SlowReader,
		Health: func(context.Context) []host.Reason { return nil }, Version: m.Version, Log: m.Log,
	})
	return mcp.New(mcp.Settings{Door: g, Version: m.Version, Local: who, Log: m.Log, Body: int64(s.MaxBody) << 10, Sessions: 1}).Serve(ctx, m.In, m.Out)
}
