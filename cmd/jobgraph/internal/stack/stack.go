package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/secure"
	"github.com/jobgraph/jobgraph/pkg/access"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// Settings configures a stack.
type Settings struct {
	// Host are the settings common to all services; those of the bus are ignored.
	Host host.Settings
	// HTTPElse is the HTTP address if that of Host is in use; empty makes that an error.
	HTTPElse string
	// Env looks up variables for the services' own settings and files.
	Env host.Env
	// Embed configures the embedded server.
	Embed embed.Settings
	// Experts are card files or folders, in addition to those of the settings.
	Experts []string
	// Model is the name of the planning model, FakeModel for the scripted one in this process; empty leaves it to the
	// settings.
	Model string
	// Watched is true if a person watches who can answer: the scripted model asks a question then, and writes slowly.
	Watched bool
	// Token is the start-up token of the HTTP API; empty for a stack without it.
	Token string
	// PlanOnly runs no expert-runner: the cards of the experts are announced, including Cards, but no step is executed.
	PlanOnly bool
	// Cards are additional experts to plan for, with PlanOnly.
	Cards []events.Card
	// Secure are the keys of the services, for a server with accounts; nil for a server without them.
	Secure *secure.Layout
	// Sandbox is the sandbox helper in the embedding program.
	Sandbox runner.Sandbox
	// Log receives the log messages of all services.
	Log *slog.Logger
}

// FakeModel names the scripted model (llmtest.Play), which costs nothing and always does the same; with a colon and a file
// behind it, one that plays the script of the file.
const FakeModel = "fake"

// startBound limits the start of the services, stopBound their end once no work may continue.
const (
	startBound = 30 * time.Second
	stopBound  = 15 * time.Second
	glance     = 2 * time.Millisecond // The interval of readiness checks, since Health does not notify.
)

// Stack is the running server with the services on it.
type Stack struct {
	settings Settings
	server   *embed.Server
	process  *host.Process
	cards    []events.Card // The cards of experts without a runner; see PlanOnly.
	admin    *bus.Bus
	buses    []*bus.Bus
	work     context.Context    // Ends when no work may continue.
	endWork  context.CancelFunc // Makes work end.
	drain    context.CancelFunc // Ends the intake of all services.
	endLook  context.CancelFunc // Ends the checks of the store.
	looked   chan struct{}      // Closed when the checks have ended, after broken is written.
	broke    chan struct{}      // Closed when the store cannot be written, after broken is written.
	broken   error              // Why the store cannot be written.
	ended    chan struct{}      // Closed when all services have ended, after err is written.
	failed   chan struct{}      // Closed at the first failure, by fail.
	fail     func()
	err      error
}

// Start runs a stack and returns when its services are ready. Work continues until the context ends or Stop has drained it.
// Errors: events.Faults and host.Faults for what the user can fix.
func Start(work context.Context, s Settings) (*Stack, error) {
	server, err := embed.Start(s.Embed)
	if err != nil {
		return nil, err
	}
	k := &Stack{settings: s, server: server, looked: make(chan struct{}), broke: make(chan struct{}), ended: make(chan struct{}), failed: make(chan struct{})}
	k.fail = sync.OnceFunc(func() { close(k.failed) })
	k.work, k.endWork = context.WithCancel(work)
	intake, drain := context.WithCancel(context.WithoutCancel(work))
	k.drain = drain
	k.process = host.NewProcess(k.work, intake, "jobgraph", s.Host, s.Log)
	k.process.Env = s.Env
	look, endLook := context.WithCancel(context.WithoutCancel(work))
	k.endLook = endLook
	go k.keepSound(look)     // Ends with Stop, which waits for it.
	go host.GiveBack(k.work) // Ends with the stack.
	if err := k.begin(k.work); err != nil {
		return nil, errors.Join(err, k.Stop())
	}
	return k, nil
}

// begin starts the bus and then the services.
func (k *Stack) begin(work context.Context) error {
	members, err := k.members()
	if err == nil {
		k.admin, err = k.connect(work, "jobgraph")
	}
	if err == nil {
		err = k.admin.Streams().Init(work)
	}
	if err == nil {
		err = k.announce(work)
	}
	if err == nil {
		err = k.listen()
	}
	if err == nil {
		err = k.equip(work, members)
	}
	if err != nil {
		close(k.ended)
		return err
	}
	k.run(work, members)
	k.process.Ready()
	return k.await(work)
}

func (k *Stack) connect(ctx context.Context, name string) (*bus.Bus, error) {
	b, err := bus.Connect(ctx, k.options(name))
	if err == nil {
		k.buses = append(k.buses, b)
	}
	return b, err
}

// identities are the identities of the services, by the names of their connections.
var identities = map[string]string{"jobgraph": "admin", "scheduler": "scheduler", "planner": "planner", "gateway": "gateway", "expert-runner": "runner"}

func (k *Stack) options(name string) bus.Options {
	o := bus.Options{InProcess: k.server, Name: name, Prefix: k.settings.Host.Prefix, Logger: k.process.Log}
	if l := k.settings.Secure; l != nil {
		who := identities[name]
		o.NKey, o.InboxPrefix = l.Seed(secure.DefaultTenant, who), (&access.Identity{Name: who}).Inbox()
		o.Signers = l.Signers(secure.DefaultTenant)
	}
	return o
}

// listen serves health and metrics, unless HTTP is off.
func (k *Stack) listen() error {
	addr := k.settings.Host.HTTPAddr
	if addr == host.AddrOff {
		return nil
	}
	server, err := host.Listen(addr, k.process.Health, k.process.Metrics, k.process.Build)
	if err != nil && k.settings.HTTPElse != "" {
		server, err = host.Listen(k.settings.HTTPElse, k.process.Health, k.process.Metrics, k.process.Build)
	}
	if err != nil {
		return err
	}
	if err := server.Secure(k.settings.Host.TLS, k.process.Log); err != nil {
		return errors.Join(err, server.Close())
	}
	k.process.Server = server
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Run(ctx) }() // Ends with the cleanup, which waits for it.
	k.process.Cleanup("http", 0, func(context.Context) error {
		cancel()
		return <-served
	})
	return nil
}

// equip opens a connection for each service.
func (k *Stack) equip(ctx context.Context, members []member) error {
	for i := range members {
		b, err := k.connect(ctx, members[i].name)
		if err != nil {
			return err
		}
		members[i].bus = b
	}
	return nil
}

// run starts all services; the goroutine that waits for them ends when they have ended.
func (k *Stack) run(work context.Context, members []member) {
	errs := make(chan error, len(members))
	for _, m := range members {
		child := k.process.Child(m.name)
		go func() { // Ends with the intake of its service, at the latest with work; waited for below.
			err := guard(func() error { return m.run(work, child, m.bus) })
			if err != nil {
				err = fmt.Errorf("%s: %w", m.name, err)
			}
			errs <- err
		}()
	}
	go func() {
		defer close(k.ended)
		var all []error
		for range members {
			if err := <-errs; err != nil && !errors.Is(err, context.Canceled) {
				k.fail()
				all = append(all, err)
			}
		}
		k.err = errors.Join(all...)
	}()
}

// guard converts a panic to an error.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

// await returns when every service is ready.
func (k *Stack) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startBound)
	defer cancel()
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for {
		reasons := k.process.Health.Reasons(ctx)
		if len(reasons) == 0 {
			return nil
		}
		select {
		case <-ticker.C:
		case <-k.failed:
			return errors.New("a service did not start")
		case <-ctx.Done():
			return fmt.Errorf("not ready: %v", reasons)
		}
	}
}

// Options returns options that connect to this stack's bus in process.
func (k *Stack) Options() bus.Options { return k.options("jobgraph-cli") }

// Server returns the embedded server.
func (k *Stack) Server() *embed.Server { return k.server }

// HTTP returns the address of health and metrics, "" if HTTP is off.
func (k *Stack) HTTP() string {
	if k.process.Server == nil {
		return ""
	}
	return k.process.Server.URL()
}

// Failed is closed when a service or the store has failed; Stop returns the reason.
func (k *Stack) Failed() <-chan struct{} { return k.failed }

// Stop drains the services, ends running work if draining takes too long, then closes connections and server. It returns
// their errors; if the store cannot be written, only that, as events.Faults, since everything else follows from it.
func (k *Stack) Stop() error {
	k.process.Health.Block("jobgraph", "draining")
	k.drain()
	select {
	case <-k.broke: // Nothing can be stored any more, so there is nothing to wait for.
		k.hangUp()
	default:
	}
	errs := []error{k.settle()}
	ctx, cancel := context.WithTimeout(context.Background(), stopBound)
	defer cancel()
	errs = append(errs, k.process.Close(ctx))
	k.hangUp()
	k.endWork()
	k.endLook()
	<-k.looked
	errs = append(errs, k.server.Stop())
	if k.broken != nil {
		return k.broken
	}
	return errors.Join(errs...)
}

// hangUp closes the connections of the services.
func (k *Stack) hangUp() {
	for _, b := range k.buses {
		b.Close()
	}
}

// settle waits for the end of the services and returns their errors.
func (k *Stack) settle() error {
	timer := time.NewTimer(k.settings.Host.DrainTimeout)
	defer timer.Stop()
	select {
	case <-k.ended:
		return k.err
	case <-timer.C:
		k.endWork()
	case <-k.work.Done():
	}
	timer.Reset(stopBound)
	select {
	case <-k.ended:
		return k.err
	case <-timer.C:
		return errors.New("the services did not end in time")
	}
}
