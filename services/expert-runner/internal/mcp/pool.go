package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/policy"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/process"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// Settings are common to all servers.
type Settings struct {
	// Dir is the folder of the configuration, the default working folder of programs.
	Dir string
	// Path is the PATH of programs.
	Path string
	// WorkDir is the folder for the home folders of programs; the system's temporary folder if empty.
	WorkDir string
	// Grace is how long a program may take to end, at each step, before it is killed.
	Grace time.Duration
	// Keeper ends the programs when the runner dies; may be nil.
	Keeper *process.Keeper
	// Place is the workspace that all programs run in; nil for programs outside.
	Place *Place
	// Version is the runner's version, sent to servers.
	Version string
	// Secrets are removed from everything that servers say; may be nil.
	Secrets *redact.Set
	// Logger logs starts and ends of servers.
	Logger *slog.Logger
}

// Place is the workspace of a run.
type Place struct {
	// Dir is the folder, which is home and working folder of the programs and stays when they end.
	Dir string
	// Start starts a program there. ended is called from another goroutine, at most once, if the program was ended because it broke a
	// limit; release is called after its end.
	Start func(cmd *exec.Cmd, s *Server, ended func(why error)) (group *process.Group, release func(), err error)
}

// Apart returns the servers that run in the workspaces of runs, and the others.
func Apart(all map[string]Server) (placed, shared map[string]Server) {
	placed, shared = map[string]Server{}, map[string]Server{}
	for name, s := range all { // any order: the results are maps.
		if s.Workspace {
			placed[name] = s
		} else {
			shared[name] = s
		}
	}
	return placed, shared
}

// quiet is the logger for the SDK: what matters is returned as an error.
func (s *Settings) quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Pool is every server of a configuration. It is safe for concurrent use.
type Pool struct {
	settings Settings
	servers  map[string]*server // By the prefix of their tools' names. Constant after New.
	ctx      context.Context    // Ends the servers; stored because a pool outlives the call that made it.
	cancel   context.CancelFunc

	mu      sync.Mutex // Guards closed.
	closed  bool
	running sync.WaitGroup // Goroutines of starts and sessions, for Close.
}

// New returns a pool without starting servers. The configuration must have no Faults.
func New(servers map[string]Server, s Settings) *Pool {
	p := &Pool{settings: s, servers: map[string]*server{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for name, config := range servers { // any order: prefixes are told apart.
		if !config.Disabled {
			p.servers[plain(name)] = &server{name: name, config: config.filled(), pool: p}
		}
	}
	return p
}

// Close ends every server and waits for the end of everything that belongs to it.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.running.Wait()
}

// run starts a goroutine that Close waits for; it returns false if the pool is closed.
func (p *Pool) run(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.running.Go(f)
	return true
}

// of returns the server that a pattern refers to: the one with the longest name, if several match.
func (p *Pool) of(pattern string) *server {
	var found *server
	longest := -1
	for prefix, s := range p.servers { // any order: no two prefixes have the same length and the same text.
		if strings.HasPrefix(pattern, prefix+between) && len(prefix) > longest {
			found, longest = s, len(prefix)
		}
	}
	return found
}

// Owns reports whether a name, or a pattern of names, refers to the tools of a server.
func (p *Pool) Owns(pattern string) bool { return p.of(pattern) != nil }

// Lend returns the patterns of the tools of a server that is lent to requests, chosen by the server's own names; none choose all. A
// server that is not lent is an *events.Fault.
func (p *Pool) Lend(server string, tools []string) (patterns []string, err error) {
	var lent []string
	for _, s := range p.servers { // any order: sorted below.
		if s.config.Lend {
			lent = append(lent, s.name)
		}
	}
	slices.Sort(lent)
	if !slices.Contains(lent, server) {
		return nil, &events.Fault{
			Code: events.CodeNotPermitted, Field: "tools.servers", Message: fmt.Sprintf("the MCP server %.80q is not lent to requests", server),
			Hint: "lent are " + cmp.Or(strings.Join(lent, ", "), "none") + ": mcpServers.NAME.lend of jobgraph.yaml lends one",
		}
	}
	for _, tool := range tools {
		patterns = append(patterns, toolName(server, tool))
	}
	if len(tools) == 0 {
		patterns = append(patterns, plain(server)+between+"*")
	}
	return patterns, nil
}

// Open starts the servers of the named tools and returns those tools, sorted by name. Errors are *events.Fault, or the
// context's.
func (p *Pool) Open(ctx context.Context, patterns []string) ([]tool.Tool, error) {
	found := map[string]tool.Tool{}
	for _, pattern := range patterns {
		s := p.of(pattern)
		if s == nil {
			continue
		}
		x, err := s.get(ctx)
		if err != nil {
			return nil, err
		}
		list, _ := x.all()
		matched := false
		for i := range list {
			if policy.Matches(pattern, list[i].Name) {
				found[list[i].Name] = s.tool(&list[i])
				matched = true
			}
		}
		if !matched {
			return nil, s.none(pattern, list)
		}
	}
	var tools []tool.Tool
	for _, name := range slices.Sorted(maps.Keys(found)) {
		tools = append(tools, found[name])
	}
	return tools, nil
}

// none returns the fault for a name without a tool.
func (s *server) none(pattern string, list []Listed) *events.Fault {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	return &events.Fault{
		Code: events.CodeNotFound, Field: "tools", Message: fmt.Sprintf("MCP server %s has no tool %q", s.name, pattern),
		Hint: "it has " + cmp.Or(strings.Join(names, ", "), "none"),
	}
}

// tool returns one tool of a server. It can be called as long as the server's description is the same as when the run
// began.
func (s *server) tool(l *Listed) tool.Tool {
	begun := *l
	if s.config.Workspace && !s.config.Network {
		begun.Once = false // All that it can change is the workspace.
	}
	return tool.Tool{
		Name: l.Name, Description: l.Description, Schema: l.Schema, Once: begun.Once, Digest: l.Digest, Files: s.config.Workspace,
		Call: func(ctx context.Context, c tool.Call) (string, error) {
			x, err := s.get(ctx)
			if err != nil {
				return "", err
			}
			if now, there := x.find(begun.Name); !there || now.Digest != begun.Digest {
				return "", fmt.Errorf("the server has changed the tool %s since it was offered: it was not called", begun.Name)
			}
			return x.call(ctx, begun.Title, json.RawMessage(cmp.Or(c.Args, "{}")), c.Key)
		},
	}
}

// Inventory is what a server offers, or why it cannot be used.
type Inventory struct {
	// Server is its name in the configuration.
	Server string
	// Digest is the digest of its list of tools, for its pin; Pinned is true if the configuration has a pin.
	Digest string
	Pinned bool
	Tools  []Listed
	// Fault says why it cannot be used.
	Fault error
}

// Inventory starts every server and lists the tools, sorted by name.
func (p *Pool) Inventory(ctx context.Context) []Inventory {
	var all []Inventory
	for _, prefix := range slices.Sorted(maps.Keys(p.servers)) {
		s := p.servers[prefix]
		one := Inventory{Server: s.name, Pinned: s.config.Pin != ""}
		x, err := s.get(ctx)
		if err == nil {
			one.Tools, one.Digest = x.all()
		}
		one.Fault = err
		all = append(all, one)
	}
	return all
}
