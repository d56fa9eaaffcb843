package stack_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/secure"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// unset is an environment without variables.
func unset(string) (string, bool) { return "", false }

// fortress runs a stack with accounts; TLS guards its address.
func fortress(t *testing.T, change secure.Change, experts ...string) (*secure.Layout, *stack.Stack) {
	t.Helper()
	return fortressIn(t, unset, change, experts...)
}

// fortressIn is fortress with an environment.
func fortressIn(t *testing.T, env host.Env, change secure.Change, experts ...string) (*secure.Layout, *stack.Stack) {
	t.Helper()
	change.Listen = "127.0.0.1:0"
	l := musttest.Get(secure.Make(filepath.Join(t.TempDir(), "secure"), &change))(t)
	s := stack.Settings{
		Host: host.Settings{HTTPAddr: "127.0.0.1:0", DrainTimeout: 10 * time.Second}, Env: env, Model: stack.FakeModel, Token: "0123456789abcdef0123456789abcdef",
		Embed: embed.Settings{Store: t.TempDir(), Listen: l.Listen, Config: l.Config()}, Secure: l, Experts: experts, Log: slog.New(slog.DiscardHandler),
	}
	if testing.Verbose() {
		s.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	k := musttest.Get(stack.Start(t.Context(), s))(t)
	t.Cleanup(func() {
		if err := k.Stop(); err != nil {
			t.Error(err)
		}
	})
	return l, k
}

// enter connects as an identity over TLS.
func enter(t *testing.T, l *secure.Layout, k *stack.Stack, name string) *client.Client {
	t.Helper()
	c := musttest.Get(client.Connect(t.Context(), bus.Options{
		URL: k.Server().URL(), Name: name, NKey: l.Seed(secure.DefaultTenant, name), CA: l.CA(), InboxPrefix: "_INBOX_" + name,
	}))(t)
	t.Cleanup(c.Close)
	return c
}

// shouting is the card of an expert that writes in capitals.
func shouting(t *testing.T) string {
	t.Helper()
	card := filepath.Join(t.TempDir(), "shout.md")
	musttest.Do(t, os.WriteFile(card, []byte("---\nname: Shout Expert\ndescription: Writes in capitals.\nkind: command\nsandbox: none\ncommand: [/usr/bin/tr, a-z, A-Z]\n---\n"), 0o600))
	return card
}

func TestAJobRunsWithPermissionsForEveryRole(t *testing.T) {
	l, k := fortress(t, secure.Change{}, shouting(t))
	c := enter(t, l, k, "client")
	job := musttest.Get(c.Submit(t.Context(), events.Request{Goal: "hello", Expert: "Shout Expert"}))(t)
	result := musttest.Get(c.Wait(t.Context(), job))(t)
	t.Logf("%+v", result)
}
