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
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/render"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/host"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

func (a *app) demoCommand() *cobra.Command {
	c := group("demo", "A guided first five minutes, with a scripted model and no key", a.demoCrashCommand(), a.demoRunnerCommand())
	c.Long = "Demo runs real commands on an embedded bus, one after another, and says what they show."
	c.RunE = func(*cobra.Command, []string) error { return a.tour() }
	return c
}

func (a *app) demoCrashCommand() *cobra.Command {
	return &cobra.Command{
		Use: "crash", Short: "Kill a runner with -9 in the middle of its calls, and count what was made twice", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.form(); err != nil {
				return err
			}
			return a.demoCrash()
		},
	}
}

// demoRunnerCommand is the runner that is killed: the expert-runner as its own program would be.
func (a *app) demoRunnerCommand() *cobra.Command {
	return &cobra.Command{
		Use: "runner", Hidden: true, DisableFlagParsing: true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(_ *cobra.Command, args []string) error {
			signals := make(chan os.Signal, 1)
			stop := context.AfterFunc(a.soft, func() { signals <- syscall.SIGTERM })
			defer stop()
			sys := a.sys.System
			sys.Args, sys.Signals = args, signals
			settings := runner.Default()
			code := host.Main(sys, host.Program{
				Name: "expert-runner", About: "Executes SubJobs.", Declare: settings.Declare,
				Run: func(ctx context.Context, p *host.Process) error {
					return runner.Run(ctx, p, settings, runner.Deps{Sandbox: a.sys.Sandbox})
				},
			})
			if code != 0 {
				return outcome(code)
			}
			return nil
		},
	}
}

// scene is a world, its cards, and a stack on a bus of its own, for a demonstration.
type scene struct {
	world *demo.World
	dir   string
	stack *stack.Stack
	env   map[string]string
}

// set makes a scene. With apart the experts run nowhere: a process of its own does their work.
func (a *app) set(apart bool) (*scene, error) {
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
		settings := a.settings
		settings.HTTPAddr, settings.Config = host.AddrOff, ""
		s.stack, err = stack.Start(a.hard, stack.Settings{
			Host: settings, Env: s.lookup, Sandbox: a.sys.Sandbox, Experts: []string{dir}, PlanOnly: apart, Embed: embed.Settings{Listen: "127.0.0.1:0"},
			Log: host.NewLogger(a.sys.Stderr, settings.LogFormat, slog.LevelError),
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.strike())
	}
	return s, nil
}

// lookup is the environment of a scene: nothing of the user's gets in.
func (s *scene) lookup(name string) (string, bool) {
	value, ok := s.env[name]
	return value, ok
}

// strike ends a scene.
func (s *scene) strike() error {
	var err error
	if s.stack != nil {
		err = s.stack.Stop()
	}
	return errors.Join(err, s.world.Close(), os.RemoveAll(s.dir))
}

// demoCrash plays the crash and prints what it has cost.
func (a *app) demoCrash() (err error) {
	s, err := a.set(true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.strike()) }()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	c, err := client.Connect(a.soft, s.stack.Options())
	if err != nil {
		return err
	}
	defer c.Close()
	env := []string{"NATS_URL=" + s.stack.Server().URL(), "JOBGRAPH_HTTP_ADDR=off", "JOBGRAPH_LOG_LEVEL=error", "TMPDIR=" + s.dir}
	for name, value := range s.env {
		env = append(env, name+"="+value)
	}
	crash := &demo.Crash{
		Client: c, World: s.world, Runner: []string{self, "demo", "runner", "--experts", s.dir}, Env: env, Errors: a.sys.Stderr, Note: a.note,
		Follow: func(context.Context) (int64, error) {
			h, err := a.follow(c, demo.Job)
			if err != nil {
				return 0, err
			}
			return h.Job.View().Cost.Tokens, a.ended(h)
		},
	}
	counts, err := crash.Run(a.soft)
	if err != nil {
		return err
	}
	return a.writeCounts(&counts)
}

// writeCounts prints what a kill has cost.
func (a *app) writeCounts(n *demo.Counts) error {
	if a.machine() {
		return render.Value(a.sys.Stdout, a.output, n)
	}
	list := func(names []string) string {
		if len(names) == 0 {
			return "0"
		}
		return fmt.Sprintf("%d: %s", len(names), strings.Join(names, ", "))
	}
	return a.printf("\ncalls finished before the kill  %d\n  of these repeated             %d\ncalls in flight at the kill     %s\n"+
		"  repeated, as declared safe    %s\n  asked about instead           %s\npayments made                   %d\n"+
		"answers of the model            %d\ntokens paid, and of the job     %d, %d\n",
		n.Finished, n.Repeated, list(n.InFlight), list(n.Again), list(n.Settled), n.Payments, n.Answers, n.Tokens, n.JobTokens)
}
