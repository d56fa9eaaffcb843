package app

import (
	"context"
	"io"
	"log/slog"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/pkg/verb/asker"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
	"github.com/jobgraph/jobgraph/services/gateway/internal/mcp"
	"github.com/jobgraph/jobgraph/services/gateway/internal/route"
)

// MCP is a client of the Model Context Protocol at the other end of two streams, such as the standard input and output of a program.
type MCP struct {
	// In and Out are the streams.
	In  io.ReadCloser
	Out io.WriteCloser
	// User is the user in whose name it asks; empty means the user of the client's key. On a bus with roles it may do what the key may
	// do, otherwise everything that the connection to the bus permits.
	User string
	// Version is the version of the program.
	Version string
	// Log gets who did what, and protocol errors.
	Log *slog.Logger
}

// ServeMCP serves a client until it closes its stream or ctx ends. Errors: those of reading and writing.
func ServeMCP(ctx context.Context, c *client.Client, m MCP) error {
	s := Default()
	keeper, who := alone(c, m.User)
	g := route.New(ctx, route.Settings{
		Client: c, Guard: &identity.Guard{Keeper: keeper}, Body: int64(s.MaxBody) << 10, Streams: s.Streams, Beat: s.Heartbeat, Write: s.SlowReader,
		Health: func(context.Context) []host.Reason { return nil }, Version: m.Version, Log: m.Log,
	})
	return mcp.New(mcp.Settings{Door: g, Version: m.Version, Local: who, Log: m.Log, Body: int64(s.MaxBody) << 10, Sessions: 1}).Serve(ctx, m.In, m.Out)
}

// alone returns the only user, the person at the client, with the rights of the client's key, and a keeper that knows no other user.
func alone(c *client.Client, user string) (*identity.Keeper, identity.Identity) {
	self, ok := c.Bus().Self()
	if !ok {
		return identity.Alone(user, verb.Admin)
	}
	if mine, err := self.Named(user); err == nil { // Otherwise the service that is asked refuses.
		user = mine
	}
	return identity.Alone(user, asker.Rights(&self)...)
}
