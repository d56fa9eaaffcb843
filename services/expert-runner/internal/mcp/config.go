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
	// DefaultTimeout limits a call.
	DefaultTimeout = time.Minute
	// DefaultStartTimeout limits the time from the start of a server to its list of tools.
	DefaultStartTimeout = 30 * time.Second
	// DefaultReplyLimit limits one message of a server, in bytes.
	DefaultReplyLimit = 4 << 20
)

// The transports.
const (
	stdio      = "stdio"
	httpStream = "http"
	sse        = "sse"
	websocket  = "websocket"
)

// Server is one entry of mcpServers, in the form that MCP clients share.
type Server struct {
	// Command is the program of a server on standard input and output: a path relative to cwd, or a name in PATH.
	Command string `yaml:"command"`
	// Args are the arguments of the program.
	Args []string `yaml:"args"`
	// Env is added to the clean environment of the program and takes precedence over it.
	Env map[string]string `yaml:"env"`
	// Workspace starts the program for each run that uses its tools, in the sandbox and the workspace of the run. What a call
	// changes there is stored with its result.
	Workspace bool `yaml:"workspace"`
	// Network lets a program in a workspace reach the network; off by default.
	Network bool `yaml:"network"`
	// Read are files and folders that a program in a workspace may read in addition to the system's programs, relative to the file.
	Read []string `yaml:"read"`
	// Cwd is the working folder of the program, relative to the configuration file; the folder of that file if empty.
	Cwd string `yaml:"cwd"`
	// URL is the address of a remote server.
	URL string `yaml:"url"`
	// Headers are sent with every request, only to that server.
	Headers map[string]string `yaml:"headers"`
	// Type is the transport: stdio, http (streamable), sse (legacy) or websocket. By default a command is stdio, and a URL
	// is http, or websocket if it begins with ws.
	Type string `yaml:"type"`
	// Transport is an alternative to type.
	Transport string `yaml:"transport"`
	// Lend lends the tools of the server to requests that name it, for agents whose cards do not have them.
	Lend bool `yaml:"lend"`
	// Disabled servers are ignored.
	Disabled bool `yaml:"disabled"`
	// Timeout limits a call; 0 means 1m.
	Timeout time.Duration `yaml:"timeout"`
	// StartTimeout limits the time from the start to the list of tools; 0 means 30s.
	StartTimeout time.Duration `yaml:"start_timeout"`
	// ReplyLimit limits one message of the server in bytes; 0 means 4 MiB.
	ReplyLimit int `yaml:"reply_limit"`
	// Pin is the required digest of the list of tools, as `jobgraph tools` prints it; empty allows any.
	Pin string `yaml:"pin"`
}

// spellings are other clients' names of the transports.
var spellings = map[string]string{
	"stdio": stdio, "http": httpStream, "streamablehttp": httpStream, "sse": sse, "ws": websocket, "websocket": websocket,
}

// way returns the transport; ok is false for an unknown one.
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

// filled sets the defaults.
func (s Server) filled() Server {
	s.Timeout = cmp.Or(s.Timeout, DefaultTimeout)
	s.StartTimeout = cmp.Or(s.StartTimeout, DefaultStartTimeout)
	s.ReplyLimit = cmp.Or(s.ReplyLimit, DefaultReplyLimit)
	return s
}

// pinned is the form of a digest.
var pinned = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Faults lists everything that makes servers unusable; field is the path of their section.
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
	faults = append(faults, s.placeFaults(way)...)
	for name, value := range s.Env { // any order: all names share one fault.
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

// placeFaults lists what does not fit the place where the program runs.
func (s *Server) placeFaults(way string) (faults events.Faults) {
	for _, one := range []struct {
		field, message, hint string
		bad                  bool
	}{
		{"workspace", "only a program can run in a workspace", "leave it out, or name a command", s.Workspace && way != stdio},
		{"cwd", "a program in a workspace runs in that folder", "leave it out", s.Workspace && s.Cwd != ""},
		{"lend", "tools that work in a workspace are those of cards alone", "leave it out", s.Lend && s.Workspace},
		{"network", "says nothing without workspace", "leave it out: only programs in a workspace are kept from the network", s.Network && !s.Workspace},
		{"read", "says nothing without workspace", "leave it out: only programs in a workspace are kept from files", len(s.Read) > 0 && !s.Workspace},
	} {
		if one.bad {
			faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: one.field, Message: one.message, Hint: one.hint})
		}
	}
	return faults
}

// wrongURL returns what is wrong with an address, or "".
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
		return "the url cannot be read" // The error would repeat the address, which may be secret.
	case !slices.Contains(want, strings.ToLower(u.Scheme)) || u.Host == "":
		return "the url has to begin with " + strings.Join(want, ":// or ") + "://"
	case u.User != nil:
		return "the url holds a user or password: use headers"
	}
	return ""
}
