package servicetest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/bus/bustest"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// Env is a server with the topology, and the test's connection to it. It is also the test, which fails if a method cannot do its
// work.
type Env struct {
	testing.TB
	// Server is what services connect to.
	Server *bustest.Server
	// Bus is the connection of the test itself.
	Bus *bus.Bus
	// Names are those of Bus.
	Names events.Names
	// Config is the path of the configuration file for services that are started from now on; empty for none.
	Config string
	// Patience bounds every wait for something that should happen: ten minutes, in virtual time six hours.
	Patience time.Duration
	// Quiet keeps services from logging to the output of a verbose test.
	Quiet bool

	facts *bus.Subscription // Of Fact; nil before its first call.
}

// New starts a server that lives as long as its test.
func New(tb testing.TB) *Env {
	tb.Helper()
	s := bustest.Start(tb, bustest.Settings{Quiet: true})
	b := s.Bus("test")
	return &Env{TB: tb, Server: s, Bus: b, Names: b.Names(), Patience: musttest.Patience}
}

// Virtual runs a test with an Env in virtual time.
func Virtual(t *testing.T, f func(t *testing.T, e *Env)) {
	t.Helper()
	bustest.Virtual(t, func(t *testing.T) {
		e := New(t)
		e.Patience = 6 * time.Hour
		f(t, e)
	})
}

// Service is a service in the process of the test.
type Service struct {
	*host.Process
	env  *Env
	stop context.CancelFunc
	kill context.CancelFunc
	done chan struct{} // Closed when the service has ended; err is then its result.
	err  error
	told bool // The error was returned to the test, or is expected.
}

// Start runs a service until the end of the test at the latest. It logs to the output of a verbose test. Settings without limits
// get those of a small service. It does not wait until the service is ready.
func (e *Env) Start(name string, s host.Settings, run func(ctx context.Context, p *host.Process) error) *Service {
	e.Helper()
	work, kill := context.WithCancel(context.Background())
	intake, stop := context.WithCancel(work)
	var out io.Writer = io.Discard
	if testing.Verbose() && !e.Quiet {
		out = e.Output()
	}
	if s.Concurrency == 0 {
		s.Concurrency = 16
	}
	if s.DrainTimeout == 0 {
		s.DrainTimeout = 5 * time.Second
	}
	if s.Config == "" {
		s.Config = e.Config
	}
	v := &Service{env: e, stop: stop, kill: kill, done: make(chan struct{})}
	v.Process = host.NewProcess(work, intake, name, s, slog.New(slog.NewTextHandler(out, nil)))
	go func() { // Ends with the service, which Kill ends at the latest.
		defer close(v.done)
		v.err = run(work, v.Process)
	}()
	e.Cleanup(v.Kill)
	return v
}

// Await waits until the service is ready.
func (v *Service) Await() *Service {
	v.env.Helper()
	v.env.Until(v.Name+" is ready", func() bool { return len(v.Health.Reasons(v.env.Context())) == 0 })
	return v
}

// Drain begins to drain the service without waiting for it.
func (v *Service) Drain() { v.stop() }

// Stop drains the service and returns the error with which it ended. It may be called again.
func (v *Service) Stop() error {
	v.drain()
	v.told = true
	return v.err
}

// StopAtEnd drains the service at the end of the test, and fails the test for an error that Stop has not returned.
func (v *Service) StopAtEnd() *Service {
	v.env.Cleanup(func() {
		v.drain()
		v.judge()
	})
	return v
}

// Kill ends the service without draining it. An error that Stop has not returned fails the test, unless it says that the service
// was canceled.
func (v *Service) Kill() {
	v.kill()
	v.end()
	v.judge()
}

// drain drains the service, and kills it if it does not end.
func (v *Service) drain() {
	v.stop()
	late := time.AfterFunc(v.env.Patience, func() {
		v.env.Errorf("%s does not end when it is drained", v.Name)
		v.kill()
	})
	defer late.Stop()
	v.end()
}

// judge fails the test for an error that it has not seen.
func (v *Service) judge() {
	if !v.told && v.err != nil && !errors.Is(v.err, context.Canceled) {
		v.env.Errorf("%s: %v", v.Name, v.err)
	}
	v.told = true
}

// Crash ends the service as kill -9 would: its connection first, so that it publishes nothing more. How it ends does not matter.
func (v *Service) Crash(connection *bus.Bus) {
	v.told = true
	connection.Close()
	v.Kill()
}

// end waits for the end and removes what the service has registered.
func (v *Service) end() {
	<-v.done
	v.stop()
	v.kill()
	v.err = errors.Join(v.err, v.Close(context.Background()))
}

// Until waits for a condition that no event announces.
func (e *Env) Until(what string, ok func() bool) {
	e.Helper()
	ctx, stop := context.WithTimeout(e.Context(), e.Patience)
	defer stop()
	for wait := time.Millisecond; !ok(); wait = min(wait+wait/2, time.Second) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			e.Fatalf("still waiting until %s", what)
		}
	}
}

// Next waits for the next value of a channel.
func Next[T any](e *Env, from <-chan T) T {
	e.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(e.Patience):
		e.Fatal("nothing has come")
		panic("unreachable")
	}
}
