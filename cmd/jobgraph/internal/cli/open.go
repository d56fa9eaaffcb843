package cli

import (
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
)

// openConsole has the stack of a run serve HTTP, at the usual address, or on a free port where that is taken.
func (g runs) openConsole(s *stack.Settings, f *runFlags) (err error) {
	s.Host.HTTPAddr, s.HTTPElse = g.app.settings.HTTPAddr, ""
	if !g.app.given("http-addr") {
		s.Host.HTTPAddr, s.HTTPElse = upHTTP, g.app.settings.HTTPAddr
	}
	s.Token, err = g.startToken()
	f.token = s.Token
	return err
}

// linger says where the console shows a job, attends to it, and keeps the console until a signal or the stack's failure. The job may
// end long before.
func (g runs) linger(k *stack.Stack, id string, f *runFlags, attend func() error) error {
	address := k.HTTP() + "/?token=" + f.token + "#/jobs/" + id
	g.app.note("console %s", address)
	err := attend()
	if g.app.soft.Err() == nil {
		g.app.note("the console stays at %s until Ctrl-C", address)
		<-g.app.soft.Done() // bind ends it when the stack fails.
	}
	return err
}
