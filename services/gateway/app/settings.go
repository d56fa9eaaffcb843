package app

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// DefaultAddr is the default address of the API.
const DefaultAddr = "127.0.0.1:8420"

// Settings are the gateway's own settings. Flags, environment and file set them, see Declare.
type Settings struct {
	// Tokens is the path of the file of tokens; empty for none.
	Tokens string
	// Webhooks is the path of the file of webhooks; empty for none.
	Webhooks string
	// StartToken is the token of an admin, valid until the process ends, that the parent process chooses.
	StartToken string
	// Hosts are names under which the gateway is reached, besides localhost and addresses; Origins are sites whose pages may call it.
	Hosts   []string
	Origins []string
	// Rate is how many requests a user may make in a second; 0 means no limit. MaxBody limits a request in KiB.
	Rate    int
	MaxBody int
	// Streams limits the streams that are open at once. Heartbeat is the time between two signs of life on a quiet one; SlowReader is
	// how long a reader may take nothing before its connection is closed.
	Streams    int
	Heartbeat  time.Duration
	SlowReader time.Duration
}

// Default returns the settings without any flags.
func Default() Settings {
	return Settings{Rate: 200, MaxBody: 16 << 10, Streams: 4096, Heartbeat: 15 * time.Second, SlowReader: 10 * time.Second}
}

// Declare registers the settings as flags, environment variables and keys of the file.
func (s *Settings) Declare(f *host.Flags) {
	*s = Default()
	f.String(&s.Tokens, host.Flag{Name: "tokens", Usage: "File of tokens with their users and roles; it is read again when it changes."})
	f.String(&s.Webhooks, host.Flag{Name: "webhooks", Usage: "File of webhooks, which are told when jobs end and when they ask for input."})
	f.String(&s.StartToken, host.Flag{Name: "start-token", Secret: true, Usage: "Token of an admin that ends with this process."})
	f.Strings(&s.Hosts, host.Flag{Name: "hosts", Usage: "Names under which the API is reached, besides localhost and addresses."})
	f.Strings(&s.Origins, host.Flag{Name: "origins", Usage: "Sites whose pages may call the API, as in https://console.example.org."})
	f.Int(&s.Rate, 0, 1<<20, host.Flag{Name: "rate", Default: "200", Usage: "How many requests a user may make in a second; 0 sets no limit."})
	f.Int(&s.MaxBody, 1, 1<<20, host.Flag{Name: "max-body", Default: "16384", Usage: "How many KiB a request may have."})
	f.Int(&s.Streams, 1, 1<<20, host.Flag{Name: "streams", Default: "4096", Usage: "How many streams of events may be open at once."})
	f.Duration(&s.Heartbeat, 10*time.Millisecond, time.Hour, host.Flag{Name: "heartbeat", Default: "15s", Usage: "Time between two signs of life on a quiet stream."})
	f.Duration(&s.SlowReader, 10*time.Millisecond, time.Hour, host.Flag{Name: "slow-reader", Default: "10s", Usage: "How long a reader may take nothing before its connection is closed."})
}

// leastToken is the shortest start-up token, in bytes.
const leastToken = 20

// validate refuses an address that others can reach if users cannot be told apart.
func (s *Settings) validate(addr string) error {
	var faults events.Faults
	switch {
	case addr == host.AddrOff:
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "http-addr", Message: "a gateway without HTTP serves nothing", Hint: "give an address, or do not start it"})
	case s.Tokens == "" && !Loopback(addr):
		faults = append(faults, events.Fault{
			Code: events.CodeMissing, Field: "tokens", Message: fmt.Sprintf("%s is reached from other machines, so that every request needs a user with roles", addr),
			Hint: "give a file of tokens with --tokens (JOBGRAPH_TOKENS), or listen on 127.0.0.1; docs/security.md has the form of the file",
		})
	case s.Tokens == "" && s.StartToken == "":
		faults = append(faults, events.Fault{
			Code: events.CodeMissing, Field: "tokens", Message: "there is no token, so that every request would be refused", Hint: "give a file of tokens with --tokens (JOBGRAPH_TOKENS), or one token in JOBGRAPH_START_TOKEN",
		})
	}
	if s.StartToken != "" && len(s.StartToken) < leastToken {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "start-token", Message: fmt.Sprintf("it has %d bytes, at least %d", len(s.StartToken), leastToken), Hint: "openssl rand -hex 16"})
	}
	return faults.OrNil()
}

// Loopback reports whether an address can be reached only from this machine.
func Loopback(addr string) bool {
	name, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && ip.IsLoopback()
}

// Deps are what an embedding program provides; the zero value is valid.
type Deps struct {
	// Bus is a connection to use, which stays open; nil makes Run open its own from the process's settings.
	Bus *bus.Bus
}
