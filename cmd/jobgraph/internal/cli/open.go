package cli

import (
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
)

// openConsole makes the stack of a run serve HTTP at the usual address, or on a free port if that is taken.
func (g runs) openConsole(s *stack.Settings, f *runFlags) (err error) {
	s.Host.HTTPAddr, s.HTTPElse = g.app.settings.HTTPAddr, ""
	if !g.app.given("http-addr") {
		s.Host.HTTPAddr, s.HTTPElse = upHTTP, g.app.settings.HTTPAddr
	}
	s.Token, err = g.startToken()
	f.token = s.Token
	return err
}

// linger prints where the console shows a job, follows the job, and keeps the console until a signal or a failure of the stack,
// even if the job ends long before.
func (g runs) linger(k *stack.Stack, id string, f *runFlags, attend func() error) error {
	address := k.HTTP() + "/?token=" + f.token + "#/jobs/" + id
	g.app.note("console %s", address)
	err := attend()
	if g.app.soft.Err() == nil {
		g.app.note("the console stays at %s until Ctrl-C", address)
		<-g.app.soft.Done() // bind also ends this context when the stack fails.
	}
	return err
}
