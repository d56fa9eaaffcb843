package host

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// System is the environment of a process, which tests can replace.
type System struct {
	// Args are the arguments without the program's name.
	Args []string
	// Env looks up variables of the environment.
	Env Env
	// Stdout receives requested output, Stderr the log and faults.
	Stdout, Stderr io.Writer
	// Signals request the end: the first to drain, the second to end at once.
	Signals <-chan os.Signal
}

// OS returns the real System. From this call on, SIGTERM and SIGINT no longer end the process by themselves.
func OS() System {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	return System{Args: os.Args[1:], Env: os.LookupEnv, Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals}
}

// Program is a service that Main can run.
type Program struct {
	// Name is the name of the service: "scheduler".
	Name string
	// About is a one-sentence description for --help.
	About string
	// HTTPAddr is the default address of the HTTP endpoint; empty means a free port of this machine.
	HTTPAddr string
	// Declare registers the service's own settings; may be nil.
	Declare func(*Flags)
	// Run is the service. It calls p.Ready once it has started. It returns when its work is finished: soon after the end of
	// p.Intake(), at once at the end of ctx. Errors that only report these two ends are ignored.
	Run func(ctx context.Context, p *Process) error
}

// Main runs a service process from start to end and returns its exit code. The program also has the subcommands
// healthcheck, version and "config print".
//
//	func main() { os.Exit(host.Main(host.OS(), host.Program{Name: "scheduler", Run: app.Run})) }
func Main(sys System, program Program) int {
	var settings Settings
	flags := NewFlags(program.Name, sys.Env)
	settings.Declare(flags)
	if program.HTTPAddr != "" {
		flags.SetDefault("http-addr", program.HTTPAddr)
	}
	if program.Declare != nil {
		program.Declare(flags)
	}
	rest, err := flags.Parse(sys.Args)
	if errors.Is(err, flag.ErrHelp) {
		return report(sys, program, help(sys.Stdout, program, flags))
	}
	if err != nil {
		return report(sys, program, err)
	}
	switch strings.Join(rest, " ") {
	case "":
		return serve(sys, program, settings)
	case "healthcheck":
		err = CheckHealth(context.Background(), settings.HTTPAddr, settings.TLS.On())
	case "version":
		err = json.NewEncoder(sys.Stdout).Encode(ReadBuild(program.Name))
	case "config print":
		err = flags.WriteValues(sys.Stdout)
	case "help":
		err = help(sys.Stdout, program, flags)
	default:
		err = unknownCommand(rest)
	}
	return report(sys, program, err)
}

func unknownCommand(rest []string) error {
	hint := "the commands are healthcheck, version, config print and help; without one the service runs"
	if near := nearest(rest[0], []string{"healthcheck", "version", "config", "help"}); near != "" {
		hint = fmt.Sprintf("did you mean %s? ", near) + hint
	}
	return Faults{{
		Code: events.CodeNotFound, Field: "command", Hint: hint,
		Message: fmt.Sprintf("%q is unknown", strings.Join(rest, " ")),
	}}
}

func help(w io.Writer, program Program, flags *Flags) error {
	_, err := fmt.Fprintf(w, "%s: %s\n\nUsage: %s [flags] [healthcheck | version | config print]\n\nFlags:\n",
		program.Name, program.About, program.Name)
	return errors.Join(err, flags.WriteUsage(w))
}

// report prints an error from before or after the service's run, and returns its exit code.
func report(sys System, program Program, err error) int {
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			fmt.Fprintf(sys.Stderr, "%s: %s\n", program.Name, line)
		}
	}
	return ExitCode(err)
}

// serve runs the service until signals end it, and cleans up.
func serve(sys System, program Program, settings Settings) int {
	TuneMemory(sys.Env)
	resolved, err := settings.NATS.Resolve(sys.Env)
	if err == nil {
		err = resolved.Validate()
	}
	if err != nil {
		return report(sys, program, err)
	}
	settings.NATS = resolved
	log := NewLogger(sys.Stderr, settings.LogFormat, settings.LogLevel)
	life := newLifecycle(context.Background())
	p := NewProcess(life.work, life.intake, program.Name, settings, log)
	p.Env = sys.Env
	if err := p.listen(); err != nil {
		return report(sys, program, err)
	}
	p.Log.Info("process started", "version", p.Build.Version, "commit", p.Build.Commit, "http", p.httpAddr(),
		"nats", settings.NATS)
	go GiveBack(life.work) // Ends with the process.
	go life.watch(sys.Signals, settings.DrainTimeout, func(first os.Signal) {
		p.Log.Info("draining", "signal", first.String(), "timeout", settings.DrainTimeout.String())
		p.Health.Block("drain", "draining since "+first.String())
	})
	err = life.run(func(ctx context.Context) error { return program.Run(ctx, p) })
	err = errors.Join(err, p.finish(life))
	logEnd(p.Log, err)
	return ExitCode(err)
}

// listen starts the HTTP server; stopping it is the last cleanup.
func (p *Process) listen() error {
	if p.Settings.HTTPAddr == AddrOff {
		return nil
	}
	server, err := Listen(p.Settings.HTTPAddr, p.Health, p.Metrics, p.Build)
	if err != nil {
		return err
	}
	if err := server.Secure(p.Settings.TLS, p.Log); err != nil {
		return errors.Join(err, server.Close())
	}
	p.Server = server
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Run(ctx) }() // Ends with the cleanup, which waits for it.
	p.Cleanup("http", 2*serverStop, func(context.Context) error {
		cancel()
		return <-served
	})
	return nil
}

func (p *Process) httpAddr() string {
	if p.Server == nil {
		return AddrOff
	}
	return p.Server.Addr()
}

// finish calls the cleanups; after a second signal they have one second in total.
func (p *Process) finish(life *lifecycle) error {
	defer life.close()
	ctx := context.Background()
	if errors.Is(context.Cause(life.work), ErrInterrupted) {
		short, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		ctx = short
	}
	return p.Close(ctx)
}

func logEnd(log *slog.Logger, err error) {
	switch {
	case err == nil:
		log.Info("process ended")
		return
	case errors.Is(err, ErrInterrupted):
		log.Warn("process interrupted", "error", err)
		return
	}
	fields := []any{"error", err}
	var fault *events.Fault
	var faults events.Faults
	switch {
	case errors.As(err, &fault) && fault.Hint != "":
		fields = append(fields, "hint", fault.Hint)
	case errors.As(err, &faults) && len(faults) > 0 && faults[0].Hint != "":
		fields = append(fields, "hint", faults[0].Hint)
	}
	var panicked *PanicError
	if errors.As(err, &panicked) {
		fields = slices.Concat(fields, []any{"stack", string(panicked.Stack)})
	}
	log.Error("process failed", fields...)
}
