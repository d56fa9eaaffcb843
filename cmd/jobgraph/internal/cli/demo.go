package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/demo"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/host"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// demos are the guided tour and the demonstration of a crash.
type demos struct{ app *app }

func (g demos) command() *cobra.Command {
	c := group("demo", "A guided first five minutes, with a scripted model and no key", g.crashCommand(), g.runnerCommand())
	c.Long = "Demo runs real commands on an embedded bus, one after another, and says what they show."
	c.RunE = func(*cobra.Command, []string) error { return g.tour() }
	return c
}

func (g demos) crashCommand() *cobra.Command {
	return &cobra.Command{
		Use: "crash", Short: "Kill a runner with -9 in the middle of its calls, and count the calls made twice", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return g.crash()
		},
	}
}

// runnerCommand returns the runner to be killed: the expert-runner as a separate program.
func (g demos) runnerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "runner", Hidden: true, DisableFlagParsing: true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(_ *cobra.Command, args []string) error {
			signals := make(chan os.Signal, 1)
			stop := context.AfterFunc(g.app.soft, func() { signals <- syscall.SIGTERM })
			defer stop()
			sys := g.app.sys.System
			sys.Args, sys.Signals = args, signals
			settings := runner.Default()
			code := host.Main(sys, host.Program{
				Name: "expert-runner", About: "Executes SubJobs.", Declare: settings.Declare,
				Run: func(ctx context.Context, p *host.Process) error {
					return runner.Run(ctx, p, settings, runner.Deps{Sandbox: g.app.sys.Sandbox})
				},
			})
			if code != 0 {
				return outcome(code)
			}
			return nil
		},
	}
}

// scene is a demonstration's world, cards, and stack with its own bus.
type scene struct {
	world *demo.World
	dir   string
	stack *stack.Stack
	env   map[string]string
}

// set prepares a scene. With apart, a separate process executes the experts.
func (g demos) set(apart bool) (*scene, error) {
	dir, err := os.MkdirTemp("", "jobgraph-demo-")
	if err != nil {
		return nil, fmt.Errorf("make folder for cards: %w", err)
	}
	world, err := demo.Open(apart)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := &scene{world: world, dir: dir}
	s.env = map[string]string{
		"WORLD_URL": s.world.URL(), "OPENAI_BASE_URL": s.world.URL() + "/v1", "OPENAI_MODEL": "scripted", "OPENAI_API_KEY": "",
		"JOBGRAPH_LEASE": demo.Lease.String(), "JOBGRAPH_LEASE_MARGIN": "0s",
	}
	if err = demo.Cards(dir); err == nil {
		settings := g.app.settings
		settings.HTTPAddr, settings.Config = host.AddrOff, ""
		s.stack, err = stack.Start(g.app.hard, stack.Settings{
			Host: settings, Env: s.lookup, Sandbox: g.app.sys.Sandbox, Experts: []string{dir}, PlanOnly: apart, Embed: embed.Settings{Listen: "127.0.0.1:0"},
			Log: host.NewLogger(g.app.sys.Stderr, settings.LogFormat, slog.LevelError),
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.strike())
	}
	return s, nil
}

// lookup looks up a variable in the environment of a scene, which is isolated from the user's.
func (s *scene) lookup(name string) (string, bool) {
	value, ok := s.env[name]
	return value, ok
}

// strike stops the stack of a scene and removes its files.
func (s *scene) strike() error {
	var err error
	if s.stack != nil {
		err = s.stack.Stop()
	}
	return errors.Join(err, s.world.Close(), os.RemoveAll(s.dir))
}

// crash plays the crash and prints its cost.
func (g demos) crash() (err error) {
	s, err := g.set(true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.strike()) }()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	c, err := client.Connect(g.app.soft, s.stack.Options())
	if err != nil {
		return err
	}
	defer c.Close()
	env := []string{"NATS_URL=" + s.stack.Server().URL(), "JOBGRAPH_HTTP_ADDR=off", "JOBGRAPH_LOG_LEVEL=error", "TMPDIR=" + s.dir}
	for name, value := range s.env {
		env = append(env, name+"="+value)
	}
	crash := &demo.Crash{
		Client: c, World: s.world, Runner: []string{self, "demo", "runner", "--experts", s.dir}, Env: env, Errors: g.app.sys.Stderr,
		Note: func(format string, args ...any) { g.app.note("%s", g.app.wrapped(fmt.Sprintf(format, args...))) },
		Follow: func(context.Context) (int64, error) {
			h, err := g.app.runs.follow(c, demo.Job, "", nil)
			if err != nil {
				return 0, err
			}
			return h.Job.View().Cost.Tokens, g.app.views.ended(h)
		},
	}
	counts, err := crash.Run(g.app.soft)
	if err != nil {
		return err
	}
	return g.writeCounts(&counts)
}

// writeCounts prints the cost of a kill.
func (g demos) writeCounts(n *demo.Counts) error {
	if g.app.machine() {
		return output.Value(g.app.sys.Stdout, g.app.output, n)
	}
	list := func(names []string) string {
		if len(names) == 0 {
			return "0"
		}
		return fmt.Sprintf("%d: %s", len(names), strings.Join(names, ", "))
	}
	return g.app.printf("\ncalls finished before the kill  %d\n  of these repeated             %d\ncalls in flight at the kill     %s\n"+
		"  repeated, as declared safe    %s\n  asked about instead           %s\npayments made                   %d\n"+
		"answers of the model            %d\ntokens paid, and of the job     %d, %d\n",
		n.Finished, n.Repeated, list(n.InFlight), list(n.Again), list(n.Settled), n.Payments, n.Answers, n.Tokens, n.JobTokens)
}
