package stack_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/secure"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
	gateway "github.com/jobgraph/jobgraph/services/gateway/app"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
	scheduler "github.com/jobgraph/jobgraph/services/scheduler/app"
)

// On a bus with roles, a service with a key but without a list of signers refuses to start; otherwise its jobs would never end.
func TestNoServiceOfABusWithRolesStartsWithoutSigners(t *testing.T) {
	l, k := fortress(t, secure.Change{})
	env := func(string) (string, bool) { return "", false }
	own := musttest.Get(stack.ReadServices("", env))(t)
	own.Gateway.StartToken = chatToken
	for name, run := range map[string]func(ctx context.Context, p *host.Process) error{
		"scheduler": func(ctx context.Context, p *host.Process) error {
			return scheduler.Run(ctx, p, own.Scheduler, scheduler.Deps{})
		},
		"planner": func(ctx context.Context, p *host.Process) error {
			return planner.Run(ctx, p, own.Planner, planner.Deps{})
		},
		"runner": func(ctx context.Context, p *host.Process) error { return runner.Run(ctx, p, own.Runner, runner.Deps{}) },
		"gateway": func(ctx context.Context, p *host.Process) error {
			return gateway.Run(ctx, p, own.Gateway, gateway.Deps{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			defer cancel()
			p := host.NewProcess(ctx, ctx, name, host.Settings{
				HTTPAddr: "127.0.0.1:0",
				NATS:     host.NATS{URL: k.Server().URL(), NKey: l.Seed(secure.DefaultTenant, name), CA: l.CA(), InboxPrefix: "_INBOX_" + name},
			}, slog.New(slog.DiscardHandler))
			p.Env = env
			var faults events.Faults
			if err := run(ctx, p); !errors.As(err, &faults) || faults[0].Field != "signers" || !strings.Contains(faults[0].Hint, "JOBGRAPH_SIGNERS") || host.ExitCode(err) != host.ExitUsage {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}
