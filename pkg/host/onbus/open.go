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
	CheckRole(p, b)
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

// runner is the role of runners.
const runner = "runner"

// roles are the roles that the services need on a bus with roles, by the name of the service.
var roles = map[string]string{"scheduler": "scheduler", "planner": "planner", "gateway": "gateway", "expert-runner": runner}

// CheckRole logs once that a service has the key of another role, and notes it for /readyz until the list of signers says otherwise. The
// process may be ready nevertheless: a list of another release may permit what this one takes for another role's. An admin may do
// everything. Without a list of signers nothing is known of roles. A runner that is not on the list is only warned about.
func CheckRole(p *host.Process, b *bus.Bus) {
	need, known := roles[p.Name]
	if !known {
		return
	}
	const hint = "give it the environment file of an identity with that role (NATS_NKEY, NATS_INBOX_PREFIX); `jobgraph init --secure DIR` lists them"
	wrong := wrongRole(b, p.Name, need)
	if need == runner && b.Unlisted() { // Lists of earlier releases name no runners.
		p.Log.Warn(wrong, "hint", hint+", and renews a list of an earlier release, which has no runners")
		return
	}
	if wrong != "" {
		p.Log.Error(wrong, "hint", hint)
	}
	const note = "role"
	p.Health.Add(note, func(context.Context) error {
		if wrong := wrongRole(b, p.Name, need); wrong != "" {
			p.Health.Note(note, wrong)
		} else {
			p.Health.Unnote(note)
		}
		return nil
	})
}

// wrongRole says that the key of a connection is not that of the role that a service needs; "" if it is, or may be.
func wrongRole(b *bus.Bus, service, need string) string {
	who, listed := b.Self()
	switch has := who.Role(); {
	case b.Unlisted():
		return fmt.Sprintf("the key is none of those on the list of signers, as that of a viewer or of a removed identity; %s needs the role %s", service, need)
	case listed && has != need && has != "admin":
		return fmt.Sprintf("the key is that of %s, whose role is %s; %s needs the role %s", who.Name, has, service, need)
	}
	return ""
}
