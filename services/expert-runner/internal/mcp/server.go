package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Pauses before a server that has died, or could not be started, is started again: the first, which doubles, the longest, and
// how long a server has to live for the pauses to start over.
const (
	firstPause = 250 * time.Millisecond
	longPause  = 30 * time.Second
	goodLife   = time.Minute
)

// pinError is a list of tools that is not the pinned one.
type pinError struct{ server, found string }

func (e *pinError) Error() string {
	return fmt.Sprintf("the tools of MCP server %s are not those that are pinned: theirs have the digest %s", e.server, e.found)
}

// server is one entry of the configuration, with the session that it has.
type server struct {
	name   string
	config Server
	pool   *Pool

	mu      sync.Mutex // Guards the fields below; it is not held while a server is started.
	session *session   // nil when there is none.
	start   *start     // nil when none is being started.
	fails   int        // How often in a row it has died soon, or could not be started.
	after   time.Time  // Before that it is not started.
}

// start is one attempt to start a server, shared by all that wait for it.
type start struct {
	done    chan struct{}
	session *session
	err     error
}

// get gives the session, and starts the server if need be. The start goes on when ctx ends: others may wait for it too.
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

// try starts the server after a pause, and stays with it to its end. It runs in a goroutine of the pool.
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
	} else if !errors.Is(a.err, errNoProgram) { // To look for a program costs nothing: it is found as soon as it is there.
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

// ended notes the end of a session.
func (s *server) ended(x *session) {
	cause := context.Cause(x.ctx)
	s.mu.Lock()
	if s.session == x { // Otherwise it was seen to end, and another one was started.
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

// failed puts the next start off. The lock is held.
func (s *server) failed() {
	pause := min(firstPause<<min(s.fails, 10), longPause)
	s.fails++
	s.after = time.Now().Add(pause)
}

// away is the fault of a server that cannot be used. It is CodeNotPermitted, which ends a SubJob without a retry, when the program of the
// server does not exist.
func (s *server) away(err error) *events.Fault {
	f := &events.Fault{Code: events.CodeUnavailable, Message: "MCP server " + s.name + " cannot be used", Cause: err.Error(), Hint: "see mcpServers." + s.name + " of the configuration"}
	var pin *pinError
	switch {
	case errors.As(err, &pin):
		f.Code, f.Hint = events.CodeConflict, "look at what has changed (`jobgraph tools`), then set mcpServers."+s.name+".pin to "+pin.found
	case errors.Is(err, errNoProgram):
		at := "mcpServers." + s.name
		f.Code = events.CodeNotPermitted // A retry cannot help: a person has to put it right.
		f.Hint = "install the program, or correct " + at + ".command, PATH in " + at + ".env or --command-path; then `jobgraph retry` runs the SubJob again"
	}
	return f
}
