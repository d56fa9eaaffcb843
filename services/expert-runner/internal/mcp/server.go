package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Pauses before a server that has died or failed to start is started again: the first, which doubles, and the longest; and
// how long a server has to live for the pauses to start over.
const (
	firstPause = 250 * time.Millisecond
	longPause  = 30 * time.Second
	goodLife   = time.Minute
)

// pinError means that the list of tools differs from the pinned one.
type pinError struct{ server, found string }

func (e *pinError) Error() string {
	return fmt.Sprintf("the tools of MCP server %s are not those that are pinned: theirs have the digest %s", e.server, e.found)
}

// server is one entry of the configuration, with its present session.
type server struct {
	name   string
	config Server
	pool   *Pool

	mu      sync.Mutex // Guards the fields below; not held while a server starts.
	session *session   // nil if there is none.
	start   *start     // nil if no start is in progress.
	fails   int        // How often in a row it died early or failed to start.
	after   time.Time  // It is not started before this time.
}

// start is one attempt to start a server, shared by all waiting callers.
type start struct {
	done    chan struct{}
	session *session
	err     error
}

// get returns the session, starting the server if necessary. The start continues when ctx ends, since others may wait for
// it.
func (s *server) get(ctx context.Context) (*session, error) {
	s.mu.Lock()
	if x := s.session; x != nil && x.ctx.Err() == nil {
		s.mu.Unlock()
		if err := x.fresh(ctx); err == nil {
			return x, nil
		} else if ctx.Err() == nil {
			return nil, s.away(err)
		}
		return nil, ctx.Err()
	}
	a := s.start
	if a == nil {
		pause := time.Until(s.after)
		if pause > s.config.StartTimeout {
			s.mu.Unlock()
			return nil, s.away(fmt.Errorf("it has failed %d times, and is not started again for another %s", s.fails, pause.Round(time.Second)))
		}
		a = &start{done: make(chan struct{})}
		if !s.pool.run(func() { s.try(a, pause) }) {
			s.mu.Unlock()
			return nil, s.away(errClosing)
		}
		s.start = a
	}
	s.mu.Unlock()
	select {
	case <-a.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if a.err != nil {
		return nil, s.away(a.err)
	}
	return a.session, nil
}

// try starts the server after a pause, and stays with it until its end. It runs in a goroutine of the pool.
func (s *server) try(a *start, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		a.session, a.err = s.open(s.pool.ctx)
	case <-s.pool.ctx.Done():
		a.err = errClosing
	}
	s.mu.Lock()
	s.start = nil
	if a.err == nil {
		s.session = a.session
	} else if !errors.Is(a.err, errNoProgram) { // Looking for a program costs nothing, so it is found as soon as it exists.
		s.failed()
	}
	s.mu.Unlock()
	close(a.done)
	if a.err != nil {
		s.pool.settings.Logger.Warn("MCP server could not be started", "server", s.name, "error", a.err)
		return
	}
	tools, digest := a.session.all()
	s.pool.settings.Logger.Info("MCP server started", "server", s.name, "tools", len(tools), "digest", digest)
	a.session.watch()
	s.ended(a.session)
}

// ended records the end of a session.
func (s *server) ended(x *session) {
	cause := context.Cause(x.ctx)
	s.mu.Lock()
	if s.session == x { // Otherwise its end was noticed before and another one was started.
		s.session = nil
	}
	if time.Since(x.began) > goodLife {
		s.fails = 0
	}
	s.failed()
	s.mu.Unlock()
	if s.pool.ctx.Err() == nil {
		s.pool.settings.Logger.Warn("MCP server ended", "server", s.name, "error", x.blame(cause))
	}
}

// failed delays the next start. The caller holds the lock.
func (s *server) failed() {
	pause := min(firstPause<<min(s.fails, 10), longPause)
	s.fails++
	s.after = time.Now().Add(pause)
}

// away is the fault of a server that cannot be used. If its program does not exist, the code is CodeNotPermitted, which
// ends a SubJob without a retry.
func (s *server) away(err error) *events.Fault {
	f := &events.Fault{Code: events.CodeUnavailable, Message: "MCP server " + s.name + " cannot be used", Cause: err.Error(), Hint: "see mcpServers." + s.name + " of the configuration"}
	var pin *pinError
	switch {
	case errors.As(err, &pin):
		f.Code, f.Hint = events.CodeConflict, "look at what has changed (`jobgraph tools`), then set mcpServers."+s.name+".pin to "+pin.found
	case errors.Is(err, errNoProgram):
		at := "mcpServers." + s.name
		f.Code = events.CodeNotPermitted // A retry cannot help: a person has to fix it.
		f.Hint = "install the program, or correct " + at + ".command, PATH in " + at + ".env or --command-path; then `jobgraph retry` runs the SubJob again"
	}
	return f
}
