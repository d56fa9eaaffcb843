package host

import (
	"log/slog"
	"net"
	"regexp"
	"time"
)

// Settings are the settings common to all services. A service declares its own in the same Flags.
type Settings struct {
	// NATS is the connection to the bus.
	NATS NATS
	// Config is the path of the configuration file jobgraph.yaml; empty means none.
	Config string
	// ReadOnce is true if the configuration files are read only at the start, because a person has judged them in this form. It is
	// not a setting: embedding programs set it.
	ReadOnce bool
	// Prefix begins all subjects and, in upper case, the names of all streams and buckets, so that two stacks can share an
	// account.
	Prefix string
	// LogLevel is the lowest level that is logged.
	LogLevel slog.Level
	// LogFormat is "text" or "json".
	LogFormat string
	// HTTPAddr is the address for health, metrics and version; port 0 takes a free one, "off" disables it.
	HTTPAddr string
	// TLS are the certificates of that endpoint.
	TLS TLS
	// Concurrency is how many pieces of work of any kind run at once; 0 leaves that to the service.
	Concurrency int
	// DrainTimeout is how long accepted work may continue after the first signal to end.
	DrainTimeout time.Duration
}

// AddrOff as HTTPAddr disables HTTP.
const AddrOff = "off"

// Declare registers the settings common to all services; Parse of the flags fills them.
func (s *Settings) Declare(f *Flags) {
	f.String(&s.Config, Flag{
		Name: configFlag, Usage: "Path of the configuration file jobgraph.yaml.",
	})
	f.String(&s.Prefix, Flag{
		Name: "prefix", Default: "jobs", Check: checkPrefix, Limit: "1 to 32 of A-Z a-z 0-9 _ -",
		Usage: "First word of all subjects; in upper case, of all streams and buckets.",
	})
	f.Text(&s.LogLevel, Flag{
		Name: "log-level", Default: "info", Usage: "Least level that is logged.",
		Limit: "debug, info, warn or error",
	})
	f.Choice(&s.LogFormat, []string{"text", "json"}, Flag{
		Name: "log-format", Default: "text", Usage: "Form of the log lines.",
	})
	f.String(&s.HTTPAddr, Flag{
		Name: "http-addr", Default: "127.0.0.1:0", Check: checkAddr,
		Limit: `HOST:PORT with a port from 0 to 65535, or "off"`,
		Usage: "Where /healthz, /readyz, /metrics and /version are served; port 0 takes a free one.",
	})
	s.TLS.declare(f)
	f.Int(&s.Concurrency, 0, 10_000, Flag{
		Name: "concurrency", Default: "0",
		Usage: "How many pieces of work run at once; 0 means 16, and in the expert-runner 256 more of those that wait for others: agents, http, a2a, people.",
	})
	f.Duration(&s.DrainTimeout, 0, time.Hour, Flag{
		Name: "drain-timeout", Default: "25s",
		Usage: "How long accepted work may go on after the first signal to end.",
	})
	s.NATS.declare(f)
}

func checkPrefix(value string) error {
	if regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`).MatchString(value) {
		return nil
	}
	return errOutside
}

func checkAddr(value string) error {
	if value == AddrOff {
		return nil
	}
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		return err
	}
	if _, err := net.LookupPort("tcp", port); err != nil || port == "" {
		return errOutside
	}
	return nil
}
