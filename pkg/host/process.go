package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Process is the environment of a running service. `up` runs several services in one Process, each with its Child.
type Process struct {
	// Name is the name of the service in log lines and health reasons.
	Name string
	// Settings are the common settings; those of the bus are resolved and checked.
	Settings Settings
	// Build describes the program's binary.
	Build Build
	// Env looks up variables for files with ${VAR}.
	Env Env
	// Log has the attribute service.
	Log *slog.Logger
	// Metrics is shared by all services of the process.
	Metrics *Metrics
	// Health is also shared; services use different names for their checks.
	Health *Health
	// Secrets are the credentials of the process: log, health, traces and everything that a service publishes never show
	// them. Code that resolves a secret adds it before using it. All services of the process share the set.
	Secrets *redact.Set
	// Server is the HTTP endpoint; nil if HTTP is off.
	Server *Server

	log      *slog.Logger    // The log without the attribute service.
	intake   context.Context // Stored in a struct because a process represents these two contexts.
	cleanups *cleanups       // Shared with children.
}

// NewProcess returns a process without signals and HTTP, for tests and for embedding. Running work ends when work ends;
// nothing new starts once intake or work has ended. The caller must Close it.
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

// starting is the reason why a service is not ready yet.
const starting = "starting"

// Ready marks the service as started. The process is ready once it and every Child are.
func (p *Process) Ready() { p.Health.Clear(p.Name) }

// Intake ends when the process begins to drain: take nothing new, finish what was taken. The context of Run ends later, when the
// time to finish is up.
func (p *Process) Intake() context.Context { return p.intake }

// Cleanup registers a function to call after Run has returned, the last registered first. Its context ends after bound, 0 for ten
// seconds; a function that takes longer is abandoned.
func (p *Process) Cleanup(name string, bound time.Duration, undo func(context.Context) error) {
	p.cleanups.add(p.Name+" "+name, bound, undo)
}

// Child returns the same process under the name of one of its services.
func (p *Process) Child(name string) *Process {
	child := *p
	child.Name, child.Log = name, p.log.With("service", name)
	child.Health.Block(name, starting)
	return &child
}

// Close calls the cleanups and joins their errors; Main does so for its own process.
func (p *Process) Close(ctx context.Context) error { return p.cleanups.run(ctx) }
