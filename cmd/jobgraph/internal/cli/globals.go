package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/output"
	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/host/onbus"
)

// globals are the flags of every command.
type globals struct {
	server, context, creds, prefix, config string
	output, color                          string
	timeout                                time.Duration
	quiet, noInput                         bool
	// settings are resolved from flags, environment and configuration file.
	settings host.Settings
	flags    *host.Flags
}

func (g *globals) declare(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVarP(&g.server, "server", "s", "", "address of the bus (NATS_URL; "+host.DefaultURL+")")
	f.StringVar(&g.context, "context", "", "context of the nats command (NATS_CONTEXT)")
	f.StringVar(&g.creds, "creds", "", "credentials file (NATS_CREDS)")
	f.StringVar(&g.prefix, "prefix", "", "first word of all subjects (JOBGRAPH_PREFIX; jobs)")
	f.StringVar(&g.config, "config", "", "configuration file (JOBGRAPH_CONFIG)")
	f.StringVarP(&g.output, "output", "o", "", "form of the result: "+strings.Join(output.Forms(), ", "))
	f.StringVar(&g.color, "color", "auto", "colours: auto, always, never")
	f.DurationVar(&g.timeout, "timeout", 0, "give up after this long, 0 for never")
	f.BoolVarP(&g.quiet, "quiet", "q", false, "no notes on standard error")
	f.BoolVar(&g.noInput, "no-input", false, "never ask a person")
}

// check resolves the settings and starts --timeout.
func (g *globals) check(a *app) error {
	if !slices.Contains([]string{"auto", "always", "never"}, g.color) {
		return usageError{fmt.Errorf("--color %q: use auto, always or never", g.color)}
	}
	if g.timeout < 0 {
		return usageError{fmt.Errorf("--timeout %s: must not be negative", g.timeout)}
	}
	if g.timeout > 0 {
		a.soft, a.endTimer = context.WithTimeoutCause(a.soft, g.timeout, errTimeout)
	}
	g.flags = host.NewFlags("jobgraph", a.sys.Env)
	g.settings.Declare(g.flags)
	var args []string
	for _, given := range []struct{ setting, value string }{
		{"nats-url", g.server}, {"nats-context", g.context}, {"nats-creds", g.creds}, {"prefix", g.prefix}, {"config", g.config},
	} {
		if given.value != "" {
			args = append(args, "--"+given.setting+"="+given.value)
		}
	}
	_, err := g.flags.Parse(args)
	return a.asTyped(err)
}

// asTyped replaces the names of settings in errors by the flags of this program; services call them differently.
func (a *app) asTyped(err error) error {
	var faults host.Faults
	if !errors.As(err, &faults) {
		return err
	}
	faults = slices.Clone(faults)
	for i := range faults {
		for _, known := range []struct{ setting, env, flag string }{
			{"nats-url", "NATS_URL", "--server"}, {"nats-context", "NATS_CONTEXT", "--context"}, {"nats-creds", "NATS_CREDS", "--creds"},
		} {
			f := &faults[i]
			if f.Field == "--"+known.setting || f.Field == known.env && a.source(known.setting) == host.FromFlag {
				f.Field = known.flag
			}
		}
	}
	return faults
}

// form checks -o for commands that print lists and values.
func (a *app) form() error {
	if !output.Known(a.output) {
		return usageError{fmt.Errorf("-o %q: use one of %s", a.output, strings.Join(output.Forms(), ", "))}
	}
	return nil
}

// write prints a list in the width of the terminal.
func (a *app) write(t output.Table) error {
	if width, _, terminal := a.size(); terminal {
		t.Width, t.Screen = width, true
	}
	return t.Write(a.sys.Stdout, a.output)
}

// paint returns whether to use colours.
func (a *app) paint() output.Paint {
	plain, found := a.sys.Env("NO_COLOR")
	return output.Paint(a.color == "always" || a.color == "auto" && a.screen() && (!found || plain == ""))
}

// screen reports whether the output is a terminal that supports redrawing and colours.
func (a *app) screen() bool {
	_, _, terminal := a.size()
	kind, _ := a.sys.Env("TERM")
	return terminal && kind != "dumb"
}

func (a *app) size() (width, height int, ok bool) {
	if a.sys.Size == nil {
		return 0, 0, false
	}
	return a.sys.Size()
}

// address returns the options to connect to the bus.
func (a *app) address() (bus.Options, error) {
	n, err := a.settings.NATS.Resolve(a.sys.Env)
	if err == nil {
		err = n.Validate()
	}
	if err != nil {
		return bus.Options{}, a.asTyped(err)
	}
	return onbus.Options(&n, "jobgraph-cli", a.settings.Prefix), nil
}

// by returns who asks if no user is given: empty if a key signs, since its user counts then.
func (a *app) by() string {
	if o, err := a.address(); err == nil && (o.NKey != "" || o.Creds != "") {
		return ""
	}
	return "cli"
}

// reach is how long a command tries to connect to the bus; an attempt in progress may take two seconds more. slowReach is how long it keeps
// trying if a server accepts the connection but is slow to answer, as on a busy machine.
const (
	reach     = time.Second
	slowReach = 15 * time.Second
)

// connect connects to the bus, or fails after reach.
func (a *app) connect() (*client.Client, error) {
	if a.unreached != nil {
		return nil, a.unreached
	}
	o, err := a.address()
	if err != nil {
		return nil, err
	}
	return a.dial(o, reach)
}

func (a *app) dial(o bus.Options, within time.Duration) (*client.Client, error) {
	connect := func(within time.Duration) (*client.Client, error) {
		ctx, cancel := context.WithTimeout(a.soft, within)
		defer cancel()
		return client.Connect(ctx, o)
	}
	c, err := connect(within)
	if errors.Is(err, bus.ErrSlow) && within >= reach && a.soft.Err() == nil {
		c, err = connect(slowReach)
	}
	if err == nil {
		return c, nil
	}
	if errors.Is(err, bus.ErrNotPermitted) {
		return nil, fmt.Errorf("%w: %w", bus.ErrNotPermitted, &events.Fault{
			Code: events.CodeNotPermitted, Message: "the bus at " + a.place(o) + " refuses the connection", Cause: reasonOf(err, bus.ErrNotPermitted),
			Hint: "give a key with NATS_NKEY, as the .env files of `jobgraph init --secure` do, a credentials file with --creds or NATS_CREDS, NATS_USER with NATS_PASSWORD, or NATS_TOKEN",
		})
	}
	if fault := (*events.Fault)(nil); errors.As(err, &fault) && !errors.Is(err, bus.ErrUnavailable) {
		return nil, fault // The fault is about the list of signers.
	}
	return nil, fmt.Errorf("%w: %w", bus.ErrUnavailable, a.unanswered(a.place(o), err))
}

// unanswered is the fault of a bus where no server answers, or where a server takes connections and says nothing.
func (a *app) unanswered(place string, err error) *events.Fault {
	f := events.Fault{Code: events.CodeUnavailable, Cause: reasonOf(err, bus.ErrUnavailable)}
	if errors.Is(err, bus.ErrSlow) {
		f.Message = "the bus does not answer: the server at " + place + " takes the connection and says nothing"
		f.Hint = "see whether its process stands still, its machine is overloaded or its disk hangs; what it has accepted is not lost when it is started again. If it is no NATS server, name another with --server"
		return &f
	}
	if untrusted := (*tls.CertificateVerificationError)(nil); errors.As(err, &untrusted) {
		f.Message = "the bus is not trusted: the certificate of the server at " + place + " cannot be verified"
		f.Hint = "name the file of its authority with NATS_CA, as the .env files of `jobgraph init --secure` do, and the server by a name in its certificate"
		return &f
	}
	f.Message, f.Hint = "the bus is away: no server answers at "+place, "start one with `jobgraph up`, or name another with --server or NATS_URL"
	if by := a.namedBy(); by != "" {
		f.Hint = fmt.Sprintf("start one there with `jobgraph up --nats HOST:PORT`, or %s: without an address `jobgraph run` has a bus of its own", correction(by))
	}
	return &f
}

// reasonOf returns why a connection failed, without what the class of the error says already.
func reasonOf(err, class error) string {
	return strings.TrimPrefix(err.Error(), "connect to the bus: "+class.Error()+": ")
}

// correction says what to do about the setting that names the bus.
func correction(by string) string {
	if strings.HasPrefix(by, "NATS_") {
		return "correct or unset " + by
	}
	return "correct " + by + " or leave it out"
}

// placed adds the bus to an error that occurred after the connection was made: a service is missing, or the bus has gone
// away since.
func (a *app) placed(err error) error {
	o, addressErr := a.address()
	if addressErr != nil || !errors.Is(err, bus.ErrUnavailable) {
		return err
	}
	faults := slices.Clone(faultsOf(err))
	if len(faults) == 0 {
		faults = events.Faults{{
			Code: events.CodeUnavailable, Message: "there is no answer", Cause: err.Error(), Hint: "`jobgraph doctor` says whether the bus and its services are there",
		}}
	}
	for i := range faults {
		if faults[i].Code == events.CodeUnavailable {
			faults[i].Message += " at " + a.place(o)
		}
	}
	return fmt.Errorf("%w: %w", bus.ErrUnavailable, faults)
}

// place describes the address of the bus and where it was set.
func (a *app) place(o bus.Options) string {
	place := host.MaskURL(o.URL)
	if by := a.namedBy(); by != "" {
		place += " (" + by + ")"
	}
	return place
}

// namedBy returns what the user set the address with; "" for the default.
func (a *app) namedBy() string {
	for _, by := range []struct{ setting, flag, env string }{{"nats-url", "--server", "NATS_URL"}, {"nats-context", "--context", "NATS_CONTEXT"}} {
		switch a.source(by.setting) {
		case host.FromFlag:
			return by.flag
		case host.FromEnv:
			return by.env
		case host.FromConfig:
			return by.setting + " of the configuration file"
		}
	}
	return ""
}

// given reports whether a setting was set at all.
func (a *app) given(name string) bool {
	return a.source(name) != host.FromDefault
}

// source returns where the value of a setting comes from.
func (a *app) source(name string) host.Source {
	for _, s := range a.flags.List() {
		if s.Name == name {
			return s.Source
		}
	}
	return host.FromDefault
}
