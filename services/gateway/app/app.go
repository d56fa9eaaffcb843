package app

import (
	"context"
	"net"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/release"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/service"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
	"github.com/jobgraph/jobgraph/services/gateway/internal/mcp"
	"github.com/jobgraph/jobgraph/services/gateway/internal/route"
	"github.com/jobgraph/jobgraph/services/gateway/internal/webhook"
)

// refreshEvery is the time between two checks of the file of tokens.
const refreshEvery = time.Second

// NewToken makes a start-up token.
func NewToken() string { return identity.NewToken() }

// Run serves the API on the HTTP server of a process until the process drains; then the streams end. Errors: host.ErrUnavailable
// without a bus, host.Faults and events.Faults for settings and the file of tokens.
func Run(_ context.Context, p *host.Process, s Settings, d Deps) error {
	addr := p.Settings.HTTPAddr
	if p.Server != nil {
		addr = p.Server.Addr()
	}
	if err := s.validate(addr); err != nil {
		return err
	}
	p.Secrets.Add(s.StartToken)
	keeper, err := identity.NewKeeper(s.StartToken, s.Tokens, p.Env)
	if err != nil {
		return err
	}
	targets, err := webhook.Read(s.Webhooks, p.Env)
	if err != nil {
		return err
	}
	return service.Run(p, d.Bus, func(b *bus.Bus) ([]host.Member, error) {
		members := []host.Member{serve(p, b, s, keeper, targets, addr), announce(p, b, addr)}
		if s.Tokens != "" {
			members = append(members, refresh(p, keeper))
		}
		if len(targets) > 0 {
			members = append(members, notify(p, b, targets))
		}
		return members, nil
	})
}

// serve mounts the gateway on the server of the process.
func serve(p *host.Process, b *bus.Bus, s Settings, keeper *identity.Keeper, targets []webhook.Target, addr string) host.Member {
	return host.Member{Name: "http", Run: func(ctx context.Context, ready func()) error {
		g := route.New(ctx, route.Settings{
			Client: client.New(b), Guard: &identity.Guard{Keeper: keeper, Hosts: s.Hosts, Origins: s.Origins, Cookie: cookieOf(addr), Secure: p.Settings.TLS.On()},
			Rate: s.Rate, Body: int64(s.MaxBody) << 10, Streams: s.Streams, Beat: s.Heartbeat, Write: s.SlowReader,
			Webhooks: targets, Health: p.Health.Reasons, Notes: p.Health.Notes, Version: p.Build.Version, Log: p.Log,
		})
		tools := mcp.New(mcp.Settings{Door: g, Version: p.Build.Version, Log: p.Log, Body: int64(s.MaxBody) << 10, Sessions: s.Streams})
		g.Mount("/mcp", tools.Handler())
		for _, pattern := range route.Routes() {
			p.Server.Handle(pattern, g)
		}
		ready()
		p.Ready()
		<-ctx.Done()
		return nil
	}}
}

// announce makes the gateway and its address known on the bus.
func announce(p *host.Process, b *bus.Bus, addr string) host.Member {
	return host.Member{Name: "announcement", Run: func(ctx context.Context, ready func()) error {
		about := map[string]string{bus.PrefixKey: b.Names().Prefix(), release.AddressKey: addr}
		stop, err := b.Services().Serve(string(release.Gateway), p.Build.Version, about, nil, verb.Metadata)
		if err != nil {
			return err
		}
		defer stop()
		ready()
		<-ctx.Done()
		return nil
	}}
}

// notify sends events to webhooks. A failing webhook is a note of the process until it accepts something again.
func notify(p *host.Process, b *bus.Bus, targets []webhook.Target) host.Member {
	for _, t := range targets {
		for _, secret := range t.Secrets {
			p.Secrets.Add(string(secret))
		}
	}
	attempts := p.Metrics.Counter("jobgraph_gateway_webhooks_total", "Attempts to tell a webhook, by what became of them.", "webhook", "outcome")
	return host.Member{Name: "webhooks", Stop: webhook.Stop, Run: func(ctx context.Context, ready func()) error {
		ready()
		return webhook.Run(ctx, webhook.Settings{
			Bus: b, Targets: targets, Agent: "jobgraph/" + p.Build.Version, Log: p.Log,
			Told: func(target string, o webhook.Outcome, err error) {
				attempts.WithLabelValues(target, string(o)).Inc()
				if err == nil {
					p.Health.Unnote("webhook " + target)
					return
				}
				p.Health.Note("webhook "+target, "it does not take what it is told: "+err.Error())
			},
		})
	}}
}

// cookieOf names the cookie after the port, since browsers share cookies between the ports of a host.
func cookieOf(addr string) string {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "jobgraph_token"
	}
	return "jobgraph_token_" + port
}

// refresh reads the file of tokens when it changes. A file with faults is reported and changes nothing.
func refresh(p *host.Process, keeper *identity.Keeper) host.Member {
	told := ""
	return host.Every("tokens", refreshEvery, func(context.Context) {
		changed, err := keeper.Refresh()
		switch {
		case err != nil && err.Error() != told:
			told = err.Error()
			p.Log.Error("file of tokens is not usable; the tokens stay as they were", "error", err)
			p.Health.Note("tokens", "the file is not usable, the tokens stay as they were: "+told)
		case err == nil && (changed || told != ""):
			told = ""
			p.Health.Unnote("tokens")
			p.Log.Info("file of tokens was read again")
		}
	})
}
