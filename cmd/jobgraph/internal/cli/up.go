package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/embed"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/secure"
	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/stack"
	"github.com/jobgraph/jobgraph/pkg/host"
	gateway "github.com/jobgraph/jobgraph/services/gateway/app"
)

// upFlags are the flags of `up`.
type upFlags struct {
	store, nats, http, sync string
	model                   string
	experts                 []string
	folder                  folderFlags
	ephemeral               bool
	secure                  string
	listens                 bool // Whether --nats was given.
}

func (g runs) upCommand() *cobra.Command {
	var f upFlags
	c := &cobra.Command{
		Use: "up [--experts FILE…]", Short: "Run bus, planner, scheduler, expert-runner and HTTP in this process",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 && len(f.experts) == 0 {
				return usageError{fmt.Errorf("%q is not an argument of it: files of experts go after --experts", args[0])}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			f.listens = c.Flags().Changed("nats")
			f.experts = append(f.experts, args...)
			return g.up(&f)
		},
	}
	f.folder.declare(c.Flags())
	c.Flags().StringVar(&f.store, "store", "", "folder of the streams (default: jobgraph/store below the user's data folder)")
	c.Flags().StringVar(&f.nats, "nats", "127.0.0.1:4222", "address of the bus, HOST:PORT; port 0 picks a free one, off disables it")
	c.Flags().StringVar(&f.http, "http", "", "address of API, health and metrics, HOST:PORT or off (default: "+upHTTP+", or a free port if that is taken)")
	c.Flags().StringArrayVar(&f.experts, "experts", nil, "expert cards, or folders of them; repeatable")
	c.Flags().StringVar(&f.sync, "sync", "", "always makes each write durable before it is acknowledged, default leaves it to the system (default: always, for a store that is kept)")
	c.Flags().StringVar(&f.model, "model", "", "the model that plans (OPENAI_MODEL); fake is a scripted one that costs nothing")
	c.Flags().StringVar(&f.secure, "secure", "", "folder made by init --secure: everyone needs a key and has a role")
	c.Flags().BoolVar(&f.ephemeral, "ephemeral", false, "keep nothing after the end")
	return c
}

// up runs the stack until a signal: the first drains it, the second ends it at once.
func (g runs) up(f *upFlags) error {
	s, err := g.stackSettings(f)
	if err != nil {
		return err
	}
	if s.Token, err = g.startToken(); err != nil {
		return err
	}
	k, err := stack.Start(g.app.hard, s)
	if err != nil {
		return err
	}
	if err := g.announce(k, s.Token, s.Secure); err != nil {
		return errors.Join(err, k.Stop())
	}
	select {
	case <-k.Failed():
	case <-g.app.soft.Done():
		g.app.note("draining; a second signal ends at once")
	}
	if err = k.Stop(); err != nil && g.app.soft.Err() != nil {
		g.app.note("it did not end cleanly: %v", err) // The result is an interruption anyway.
	}
	if err == nil && g.app.hard.Err() == nil {
		return nil
	}
	if err == nil {
		return outcome(ExitInterrupted)
	}
	return err
}

// startToken returns the token in the environment, or a new one.
func (g runs) startToken() (string, error) {
	own, err := stack.ReadServices(g.app.settings.Config, g.app.sys.Env)
	if err != nil {
		return "", err
	}
	if own.Gateway.StartToken != "" {
		return own.Gateway.StartToken, nil
	}
	return gateway.NewToken(), nil
}

// upHTTP is the default HTTP address of `up`: always the same, so that scrapers and bookmarks keep working.
const upHTTP = gateway.DefaultAddr

func (g runs) stackSettings(f *upFlags) (stack.Settings, error) {
	settings, otherwise := g.app.settings, ""
	switch {
	case f.http != "":
		settings.HTTPAddr = f.http
	case !g.app.given("http-addr"):
		settings.HTTPAddr, otherwise = upHTTP, settings.HTTPAddr
	}
	if f.ephemeral && f.store != "" {
		return stack.Settings{}, usageError{errors.New("--ephemeral and --store exclude each other")}
	}
	if f.sync != "" && f.sync != "always" && f.sync != "default" {
		return stack.Settings{}, usageError{fmt.Errorf("--sync %q: use always or default", f.sync)}
	}
	e := embed.Settings{Store: f.store, Listen: f.nats}
	if f.nats == host.AddrOff {
		e.Listen = ""
	}
	if e.Store == "" && !f.ephemeral {
		e.Store = filepath.Join(g.dataFolder(), "jobgraph", "store")
	}
	e.SyncAlways = f.sync == "always" || f.sync == "" && e.Store != ""
	all := stack.Settings{
		Host: settings, HTTPElse: otherwise, Env: g.app.sys.Env, Sandbox: g.app.sys.Sandbox, Embed: e, Experts: f.experts, Model: f.model, Log: host.NewLogger(g.app.sys.Stderr, settings.LogFormat, settings.LogLevel),
	}
	if f.secure != "" {
		l, err := secure.Open(f.secure)
		if err != nil {
			return all, err
		}
		all.Secure, all.Embed.Config = l, l.Config()
		if !f.listens {
			all.Embed.Listen = l.Listen
		}
		if f.store == "" && !f.ephemeral {
			all.Embed.Store = l.StoreFolder()
		}
	}
	return all, g.addFolder(&all, &f.folder, false)
}

// dataFolder returns where the user's programs store their data.
func (g runs) dataFolder() string {
	if dir, ok := g.app.sys.Env("XDG_DATA_HOME"); ok && dir != "" {
		return dir
	}
	home, _ := g.app.sys.Env("HOME")
	return filepath.Join(home, ".local", "share")
}

// whereabouts are the addresses and folders in use.
type whereabouts struct {
	NATS  string `json:"nats,omitempty"`
	HTTP  string `json:"http,omitempty"`
	Store string `json:"store"`
	// Open is the address for a browser, with the start-up token.
	Open string `json:"open,omitempty"`
}

// announce prints the addresses and folders, and what to try next.
func (g runs) announce(k *stack.Stack, token string, secured *secure.Layout) error {
	dir, temporary := k.Server().Store()
	w := whereabouts{NATS: k.Server().URL(), HTTP: k.HTTP(), Store: dir}
	if w.HTTP != "" {
		w.Open = w.HTTP + "/?token=" + token
	}
	if g.app.machine() {
		return output.Line(g.app.sys.Stdout, w)
	}
	kept := ""
	if temporary {
		kept = " (removed at the end)"
	}
	text := fmt.Sprintf("jobgraph is up\n%s\n", g.app.fit("  store  "+w.Store+kept, 9))
	if w.NATS != "" {
		text += fmt.Sprintf("  bus    %s\n", w.NATS)
	}
	if w.HTTP != "" {
		text += fmt.Sprintf("  http   %s\n         /api/v1  /readyz  /metrics  /version\n", w.Open)
	}
	if w.NATS != "" && secured != nil {
		text += fmt.Sprintf("try\n  set -a; . %s\n  jobgraph list\n", secured.Env(secure.DefaultTenant, "client"))
	} else if w.NATS != "" {
		cards, err := g.catalogue(k)
		if err != nil {
			return err
		}
		text += attempts(w.NATS, cards)
	}
	return g.app.printf("%s", text)
}
