package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// Settings say what is run.
type Settings struct {
	// Host are the settings common to all services; those of the bus are not used.
	Host host.Settings
	// HTTPElse is where HTTP is served when the address of Host is taken; empty when that is an error.
	HTTPElse string
	// Env looks variables up, for the services' own settings and their files.
	Env host.Env
	// Embed is the server.
	Embed embed.Settings
	// Experts are card files, or folders of them, beside those that the settings name.
	Experts []string
	// Model is the name of the model that plans, FakeModel for a scripted one in this process; empty leaves it to the settings.
	Model string
	// PlanOnly runs no expert-runner: the cards of the experts are announced, Cards among them, and no step is ever carried out.
	PlanOnly bool
	// Cards are experts to plan for beside those of the files, with PlanOnly.
	Cards []events.Card
	// Sandbox is the helper of the program around the stack.
	Sandbox runner.Sandbox
	// Log takes what the services have to say.
	Log *slog.Logger
}

// FakeModel names the scripted model: it plans any goal as one step, always in the same way, and costs nothing.
const FakeModel = "fake"

// startBound is how long the services may take to be ready, and stopBound how long to end once no work may go on.
const (
	startBound = 30 * time.Second
	stopBound  = 15 * time.Second
	glance     = 2 * time.Millisecond // How often readiness is looked at: Health does not notify.
)

// Stack is a stack that runs.
type Stack struct {
	settings Settings
	server   *embed.Server
	process  *host.Process
	cards    []events.Card // Of experts without a runner, see PlanOnly.
	admin    *bus.Bus
	buses    []*bus.Bus
	work     context.Context    // Ends when nothing more can be finished.
	endWork  context.CancelFunc // Ends work.
	drain    context.CancelFunc // Ends the intake of all services.
	endLook  context.CancelFunc // Ends the look at the store.
	looked   chan struct{}      // Closed when that has ended, after broken is written.
	broke    chan struct{}      // Closed when the store cannot be written, after broken is written.
	broken   error              // Why it cannot.
	ended    chan struct{}      // Closed when all services have ended, after err is written.
	failed   chan struct{}      // Closed at the first failure, by fail.
	fail     func()
	err      error
}

// Start runs a stack and returns when its services are ready. Work goes on until the context ends, or Stop has drained it.
// Errors: events.Faults and host.Faults for what the user can put right.
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
	go k.keepSound(look)     // Ended and waited for by Stop.
	go host.GiveBack(k.work) // Ends with the stack.
	if err := k.begin(k.work); err != nil {
		return nil, errors.Join(err, k.Stop())
	}
	return k, nil
}

// begin brings the bus up and starts the services behind it.
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

func (k *Stack) options(name string) bus.Options {
	return bus.Options{InProcess: k.server, Name: name, Prefix: k.settings.Host.Prefix, Logger: k.process.Log}
}

// listen serves health and metrics, unless that is off.
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
	k.process.Server = server
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Run(ctx) }() // Ended and waited for by the cleanup.
	k.process.Cleanup("http", 0, func(context.Context) error {
		cancel()
		return <-served
	})
	return nil
}

// equip gives each service a connection of its own.
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

// run starts all services; the goroutine that waits for them ends when they have.
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

// guard turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

// await returns when every service has said that it is ready.
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

// Options reach the bus of this stack, in process.
func (k *Stack) Options() bus.Options { return k.options("jobgraph-cli") }

// Server is the embedded server.
func (k *Stack) Server() *embed.Server { return k.server }

// HTTP is where health and metrics are, empty when nowhere.
func (k *Stack) HTTP() string {
	if k.process.Server == nil {
		return ""
	}
	return "http://" + k.process.Server.Addr()
}

// Failed is closed when a service has failed, or the store; Stop says why.
func (k *Stack) Failed() <-chan struct{} { return k.failed }

// Stop drains the services, ends what is under way when the drain takes too long, then ends connections and server. The error is
// what any of them had to say; of a store that cannot be written it is that alone, events.Faults, since all else came of it.
func (k *Stack) Stop() error {
	k.process.Health.Block("jobgraph", "draining")
	k.drain()
	select {
	case <-k.broke: // Nothing is stored any more, and there is nothing to wait for.
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

// hangUp ends the connections of the services.
func (k *Stack) hangUp() {
	for _, b := range k.buses {
		b.Close()
	}
}

// settle waits for the end of the services, and gives what they had to say.
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
