package onbus

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// Options returns the options of a connection to the configured bus under a name.
func Options(n *host.NATS, name, prefix string) bus.Options {
	return bus.Options{
		URL: n.URL, Creds: n.Creds, User: n.User, Password: n.Password, Token: n.Token, NKey: n.NKey,
		CA: n.CA, Cert: n.Cert, Key: n.Key, InboxPrefix: n.InboxPrefix, Signers: n.Signers, Name: name, Prefix: prefix,
	}
}

// noteMute is the name of the note about a server that acknowledges nothing.
const noteMute = "bus"

// Open returns the bus of a process, with its streams prepared and included in the process's health. A nil given opens a
// connection that the process closes at its end. Errors: host.ErrUnavailable without a connection, and those of
// bus.Prepare.
func Open(ctx context.Context, p *host.Process, given *bus.Bus) (*bus.Bus, error) {
	b := given
	if b == nil {
		o := Options(&p.Settings.NATS, p.Name, p.Settings.Prefix)
		o.Logger = p.Log
		var err error
		if b, err = bus.Connect(ctx, o); err != nil {
			return nil, fmt.Errorf("%w: %w", host.ErrUnavailable, err)
		}
		p.Cleanup("bus", 0, func(context.Context) error { b.Close(); return nil })
	}
	if err := b.Streams().Prepare(ctx); err != nil {
		return nil, fmt.Errorf("prepare streams: %w", err)
	}
	p.Health.Add(p.Name+" bus", func(context.Context) error {
		if m := b.Mute(); m.Is() {
			p.Health.Note(noteMute, m.String()+": "+bus.MuteHint)
		} else {
			p.Health.Unnote(noteMute)
		}
		return b.Ready()
	})
	return b, nil
}
