package app

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/command"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/web"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/reconcile"
)

// hookSpec is the hook on a card that knows whether an effect took place: a program, a service or a responder on a subject.
type hookSpec struct {
	// Command is the program to call, with its arguments.
	Command []string `yaml:"command"`
	// Env is added to the clean environment of the program.
	Env map[string]string `yaml:"env"`
	// URL is the address of a service to call.
	URL string `yaml:"url"`
	// Headers are sent with the call.
	Headers map[string]string `yaml:"headers"`
	// Subject is the subject of the request on the bus.
	Subject string `yaml:"subject"`
	// Timeout limits the wait for the answer.
	Timeout time.Duration `yaml:"timeout"`
}

func (h *hookSpec) isZero() bool { return reflect.ValueOf(*h).IsZero() }

// faults lists everything that is wrong with it; the fields are those of the card.
func (h *hookSpec) faults(c *cardSpec) events.Faults {
	var faults events.Faults
	add := func(field, message, hint string) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: strings.TrimSuffix("reconcile."+field, "."), Message: message, Hint: hint})
	}
	if h.isZero() {
		return nil
	}
	ways := 0
	for _, given := range []bool{len(h.Command) > 0, h.URL != "", h.Subject != ""} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		add("", "a hook is asked in one way", "give one of command, url and subject")
	}
	if c.Pure || !c.is().effects {
		add("", "there is no effect of this expert in the journal", "leave it out")
	}
	if len(h.Env) > 0 && len(h.Command) == 0 {
		add("env", "only a program has one", "leave it out")
	}
	if len(h.Headers) > 0 && h.URL == "" {
		add("headers", "only a call over HTTP has them", "leave them out")
	}
	if strings.ContainsAny(h.Subject, " \t\r\n*>") || strings.HasPrefix(h.Subject, ".") || strings.HasSuffix(h.Subject, ".") || strings.Contains(h.Subject, "..") {
		add("subject", "is no subject to ask on", "subject: payments.reconcile")
	}
	if h.Timeout < 0 {
		add("timeout", "must not be negative", "")
	}
	if h.URL != "" {
		for _, f := range h.call().Faults() {
			add(f.Field, f.Message, f.Hint)
		}
	}
	return faults
}

// call returns the hook as an HTTP call, which may be repeated since it has no effect.
func (h *hookSpec) call() *web.Config {
	return &web.Config{URL: h.URL, Headers: h.Headers, Timeout: h.Timeout, Safe: true}
}

// addHook makes the hook of a card, if it has one.
func (c *catalog) addHook(s *Settings, f *cardFile, x *expert.Expert) error {
	h := &f.Reconcile
	if h.isZero() || x == nil {
		return nil
	}
	hook := &reconcile.Hook{Timeout: h.Timeout}
	switch {
	case h.Subject != "":
		subject := &reconcile.Subject{Name: h.Subject}
		c.hooks = append(c.hooks, subject)
		hook.Runner = subject
	case h.URL != "":
		call := h.call()
		call.Secrets = s.secrets
		runner, err := web.New(*call)
		if err != nil {
			return err
		}
		hook.Runner = runner
	default:
		box, policy, err := s.hookBox(f)
		if err != nil {
			return err
		}
		runner, err := command.New(command.Config{
			Argv: h.Command, Dir: filepath.Dir(f.path), Env: h.Env, Path: s.CommandPath, Grace: s.KillGrace, Workspaces: s.WorkDir,
			Box: box, Policy: policy, Secrets: s.secrets, Keeper: s.keeper,
		})
		if err != nil {
			return err
		}
		hook.Runner = runner
	}
	x.Reconciler = hook
	return nil
}

// attach gives the hooks and bus tools their connection.
func (c *catalog) attach(b *bus.Bus) {
	c.models.boxes.attach(b)
	for _, hook := range c.hooks {
		if hook.Bus == nil { // One from an earlier reading has a connection, and may be in use.
			hook.Bus = b.Services()
		}
	}
}

// reconciler makes a hook from a Go function.
type reconciler func(ctx context.Context, q Inquiry) Finding

// Reconcile implements expert.Reconciler.
func (f reconciler) Reconcile(ctx context.Context, q expert.Inquiry) Finding { return f(ctx, q) }
