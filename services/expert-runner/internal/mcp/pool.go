package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
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

// Settings are what all servers have in common.
type Settings struct {
	// Dir is the folder of the configuration: programs work there unless they are told otherwise.
	Dir string
	// Path is the PATH of programs.
	Path string
	// WorkDir is where the homes of programs are made; the system's folder for temporary files when empty.
	WorkDir string
	// Grace is how long a program may take to end, at each step, before it is killed.
	Grace time.Duration
	// Keeper ends the programs when the runner dies; nil starts them without.
	Keeper *process.Keeper
	// Version is the runner's, which servers are told.
	Version string
	// Secrets are taken out of everything that servers say; nil holds none.
	Secrets *redact.Set
	// Logger takes starts and ends of servers.
	Logger *slog.Logger
}

// quiet is a logger for the SDK: what matters comes back as an error.
func (s *Settings) quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Pool is every server of a configuration. It may be used by any number of goroutines.
type Pool struct {
	settings Settings
	servers  map[string]*server // By the prefix of their tools' names. Never written after New.
	ctx      context.Context    // Ends the servers; a pool outlives its maker.
	cancel   context.CancelFunc

	mu      sync.Mutex // Guards closed.
	closed  bool
	running sync.WaitGroup // Goroutines of starts and sessions; Close waits for them.
}

// New makes a pool; no server is started. The configuration has no Faults.
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

// Close ends every server and waits until nothing of them is left.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.running.Wait()
}

// run starts a goroutine that Close waits for; false when the pool is closed.
func (p *Pool) run(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.running.Go(f)
	return true
}

// of finds the server whose tools a pattern is about: the one with the longest name, if several could be meant.
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

// Owns reports whether a name, or a pattern of names, is about the tools of a server.
func (p *Pool) Owns(pattern string) bool { return p.of(pattern) != nil }

// Open gives the tools that names and patterns are about, sorted by name, after starting their servers. Errors are
// *events.Fault, or the context's own.
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

// none is the fault of a name that no tool has.
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

// tool is one tool of a server. It is called as long as its server says of it what it said when the run began.
func (s *server) tool(l *Listed) tool.Tool {
	begun := *l
	return tool.Tool{
		Name: l.Name, Description: l.Description, Schema: l.Schema, Once: l.Once, Digest: l.Digest,
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

// Inventory is what a server has to offer.
type Inventory struct {
	// Server is its name in the configuration.
	Server string
	// Digest is that of its list of tools, for its pin; Pinned says that there is one.
	Digest string
	Pinned bool
	Tools  []Listed
	// Fault says why it cannot be used.
	Fault error
}

// Inventory starts every server and lists what they have, sorted by name.
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
