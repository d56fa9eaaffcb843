package app

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// connect gives the bus of a process, with its streams in place.
func connect(ctx context.Context, p *host.Process, given *bus.Bus) (*bus.Bus, error) {
	b := given
	if b == nil {
		n := p.Settings.NATS
		var err error
		b, err = bus.Connect(ctx, bus.Options{
			URL: n.URL, Creds: n.Creds, User: n.User, Password: n.Password, Token: n.Token, NKey: n.NKey,
			CA: n.CA, Cert: n.Cert, Key: n.Key, InboxPrefix: n.InboxPrefix,
			Name: p.Name, Prefix: p.Settings.Prefix, Logger: p.Log,
		})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", host.ErrUnavailable, err)
		}
		p.Cleanup("bus", 0, func(context.Context) error { b.Close(); return nil })
	}
	if err := b.Prepare(ctx); err != nil {
		return nil, fmt.Errorf("prepare streams: %w", err)
	}
	p.Health.Add(p.Name+" bus", func(context.Context) error { return b.Ready() })
	return b, nil
}
