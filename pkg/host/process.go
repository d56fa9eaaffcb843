package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Process is what a service gets to run with. `up` runs several services in one Process, each with its Child.
type Process struct {
	// Name is the service's, as in its log lines and health reasons.
	Name string
	// Settings are those common to all services; the bus settings are resolved and checked.
	Settings Settings
	// Build says which program this is.
	Build Build
	// Env looks variables up, for files with ${VAR}.
	Env Env
	// Log carries the field service.
	Log *slog.Logger
	// Metrics is shared by all services of the process.
	Metrics *Metrics
	// Health is shared too; services name their checks so that they do not meet.
	Health *Health
	// Secrets are what the process was given to enter somewhere: log, health and traces never show them, and neither does what a
	// service states. The code that resolves a secret adds it, before it is used. Shared by all services of the process.
	Secrets *redact.Set
	// Server is where operators look; nil when HTTP is off.
	Server *Server

	log      *slog.Logger    // Without the field service.
	intake   context.Context // Kept, since a process is what these two stand for.
	cleanups *cleanups       // Shared with children.
}

// NewProcess is a process without signals and HTTP, for tests and for embedding. Work may be under way until work
// ends; nothing new is begun once intake has ended, or work has. Close it at the end.
func NewProcess(work, intake context.Context, name string, settings Settings, log *slog.Logger) *Process {
	build := ReadBuild(name)
	intake, cancel := context.WithCancel(intake)
	context.AfterFunc(work, cancel)
	secrets := redact.NewSet(settings.NATS.secrets()...)
	log = slog.New(redact.Handler(log.Handler(), secrets))
	p := &Process{
		Name: name, Settings: settings, Build: build, Log: log.With("service", name), Metrics: NewMetrics(build),
		Health: NewHealth(), Secrets: secrets, intake: intake, cleanups: &cleanups{}, log: log,
	}
	p.Health.secrets = secrets
	p.Health.Block(name, starting)
	return p
}

// starting is why a service is not ready before it has said so.
const starting = "starting"

// Ready says that the service has started: until then, and of each Child until its own, the process is not ready.
func (p *Process) Ready() { p.Health.Clear(p.Name) }

// Intake ends when the process begins to drain: take nothing new, finish what was taken. The context that Run gets
// ends later, when there is no more time to finish.
func (p *Process) Intake() context.Context { return p.intake }

// Cleanup registers what is to be undone at the end, after Run has returned: last registered, first called. The
// call gets a context that ends with the bound, 0 for ten seconds, and is left behind if it overstays.
func (p *Process) Cleanup(name string, bound time.Duration, undo func(context.Context) error) {
	p.cleanups.add(p.Name+" "+name, bound, undo)
}

// Child is the same process under the name of one of its services.
func (p *Process) Child(name string) *Process {
	child := *p
	child.Name, child.Log = name, p.log.With("service", name)
	child.Health.Block(name, starting)
	return &child
}

// Close calls the cleanups; Main does it for the process it made. The errors are joined.
func (p *Process) Close(ctx context.Context) error { return p.cleanups.run(ctx) }
