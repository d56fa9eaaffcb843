package mcp

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Defaults of a Server.
const (
	// DefaultTimeout is how long a call may take.
	DefaultTimeout = time.Minute
	// DefaultStartTimeout is how long a server may take from its start to the list of its tools.
	DefaultStartTimeout = 30 * time.Second
	// DefaultReplyLimit is how large one message of a server may be, in bytes.
	DefaultReplyLimit = 4 << 20
)

// The ways to a server.
const (
	stdio      = "stdio"
	httpStream = "http"
	sse        = "sse"
	websocket  = "websocket"
)

// Server is one entry of mcpServers, in the shape that MCP clients share.
type Server struct {
	// Command is the program of a server that is spoken to over standard input and output: a path from cwd, or a name in PATH.
	Command string `yaml:"command"`
	// Args are the arguments of the program.
	Args []string `yaml:"args"`
	// Env is added to the clean environment of the program, and wins over it.
	Env map[string]string `yaml:"env"`
	// Cwd is where the program works, relative to the configuration file; its folder when empty.
	Cwd string `yaml:"cwd"`
	// URL is where a server is that runs elsewhere.
	URL string `yaml:"url"`
	// Headers are sent with every request, to that server alone.
	Headers map[string]string `yaml:"headers"`
	// Type is the way to the server: stdio, http (streamable), sse (legacy) or websocket. Without it a command is stdio, a URL
	// http, and one that begins with ws is websocket.
	Type string `yaml:"type"`
	// Transport is another name of type.
	Transport string `yaml:"transport"`
	// Disabled servers are not there.
	Disabled bool `yaml:"disabled"`
	// Timeout is how long a call may take; 1m when 0.
	Timeout time.Duration `yaml:"timeout"`
	// StartTimeout is how long it may take from the start to the list of tools; 30s when 0.
	StartTimeout time.Duration `yaml:"start_timeout"`
	// ReplyLimit is how large one message of the server may be in bytes; 4 MiB when 0.
	ReplyLimit int `yaml:"reply_limit"`
	// Pin is the digest that the list of tools has to have, as `jobgraph tools` prints it; any when empty.
	Pin string `yaml:"pin"`
}

// spellings are the words of clients for the ways to a server.
var spellings = map[string]string{
	"stdio": stdio, "http": httpStream, "streamablehttp": httpStream, "sse": sse, "ws": websocket, "websocket": websocket,
}

// way is how the server is reached; ok is false for a way that there is not.
func (s *Server) way() (way string, ok bool) {
	said := cmp.Or(s.Type, s.Transport)
	switch {
	case said != "":
		way, ok = spellings[strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(said))]
		return way, ok
	case s.Command != "":
		return stdio, true
	case strings.HasPrefix(strings.ToLower(s.URL), "ws"):
		return websocket, true
	}
	return httpStream, true
}

// filled puts the defaults in.
func (s Server) filled() Server {
	s.Timeout = cmp.Or(s.Timeout, DefaultTimeout)
	s.StartTimeout = cmp.Or(s.StartTimeout, DefaultStartTimeout)
	s.ReplyLimit = cmp.Or(s.ReplyLimit, DefaultReplyLimit)
	return s
}

// pinned is how a digest is written.
var pinned = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Faults are everything that makes servers unusable; field is the path of their section.
func Faults(field string, servers map[string]Server) events.Faults {
	var faults events.Faults
	prefixes := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		at := field + "." + name
		for _, f := range servers[name].faults() {
			f.Field = strings.TrimSuffix(at+"."+f.Field, ".")
			faults = append(faults, f)
		}
		prefix := plain(name)
		if other, taken := prefixes[prefix]; taken {
			faults = append(faults, events.Fault{
				Code: events.CodeDuplicateID, Field: at, Message: fmt.Sprintf("the tools of %q and %q would have the same names", other, name), Hint: "rename one of them",
			})
		}
		if prefix == "" || len(prefix) > maxName/2 {
			faults = append(faults, events.Fault{
				Code: events.CodeInvalid, Field: at, Message: fmt.Sprintf("%q cannot begin the names of tools", name), Hint: fmt.Sprintf("use 1 to %d of A-Z a-z 0-9 _ -", maxName/2),
			})
		}
		prefixes[prefix] = name
	}
	return faults
}

func (s Server) faults() events.Faults {
	var faults events.Faults
	fault := func(field, hint, format string, args ...any) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: field, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	way, ok := s.way()
	switch {
	case !ok:
		fault("type", "use stdio, http, sse or websocket", "unsupported transport %q", cmp.Or(s.Type, s.Transport))
	case s.Type != "" && s.Transport != "":
		fault("transport", "keep one of type and transport", "the transport is named twice")
	case way == stdio && s.Command == "":
		fault("command", "name the program of the server, or its url", "there is no command and no url")
	case way == stdio && (s.URL != "" || len(s.Headers) > 0):
		fault("url", "leave it out, or name another type", "a server over standard input and output has no url")
	case way != stdio && (s.Command != "" || len(s.Args) > 0 || len(s.Env) > 0 || s.Cwd != ""):
		fault("command", "leave it out, or use type: stdio", "a server behind a url has no command")
	case way != stdio:
		if why := wrongURL(way, s.URL); why != "" {
			fault("url", "", "%s", why)
		}
	}
	for name, value := range s.Env { // any order: there is one fault for all.
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			fault("env", "", "a name has no = and nothing has a zero byte")
			break
		}
	}
	if s.Pin != "" && !pinned.MatchString(s.Pin) {
		fault("pin", "take it from `jobgraph tools`", "%.80q is no digest", s.Pin)
	}
	for _, limit := range []struct {
		field string
		bad   bool
	}{{"timeout", s.Timeout < 0}, {"start_timeout", s.StartTimeout < 0}, {"reply_limit", s.ReplyLimit < 0}} {
		if limit.bad {
			fault(limit.field, "", "must not be negative")
		}
	}
	return faults
}

// wrongURL says what is wrong with an address, or "".
func wrongURL(way, address string) string {
	u, err := url.Parse(address)
	want := []string{"http", "https"}
	if way == websocket {
		want = []string{"ws", "wss"}
	}
	switch {
	case address == "":
		return "there is no url"
	case err != nil:
		return "the url cannot be read" // The error would repeat what may be secret.
	case !slices.Contains(want, strings.ToLower(u.Scheme)) || u.Host == "":
		return "the url has to begin with " + strings.Join(want, ":// or ") + "://"
	case u.User != nil:
		return "the url holds a user or password: use headers"
	}
	return ""
}
