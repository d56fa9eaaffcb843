package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/agent"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/mcp"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/policy"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/recommend"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/served"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// ToolConfig holds the sections of jobgraph.yaml about the tools of agents and their permissions.
type ToolConfig struct {
	// MCPServers are tool servers by name, in the usual form of MCP clients. A card names their tools server__tool, or by a
	// pattern: server__*.
	MCPServers map[string]mcp.Server `yaml:"mcpServers"`
	// Tools are tools by name that are served on the bus.
	Tools map[string]served.Tool `yaml:"tools"`
	// Toolkit defines actions by name, with their tools. A card that lists actions gets their tools.
	Toolkit recommend.Graph `yaml:"toolkit"`
	// Policies decide about tool calls: the first matching rule applies, and a call that matches none is allowed. A card may have
	// its own policies; the stricter verdict of both applies.
	Policies policy.Rules `yaml:"policies"`
}

// Validate implements host.Validator.
func (c *ToolConfig) Validate() error {
	faults := mcp.Faults("mcpServers", c.MCPServers)
	servers := mcp.New(c.MCPServers, mcp.Settings{})
	defer servers.Close()
	faults = append(faults, served.Faults("tools", c.Tools, func(name string) bool {
		return slices.Contains(agent.ToolNames(), name) || servers.Owns(name) || servers.Owns(name+"__")
	})...)
	shelf := served.New(c.Tools)
	faults = append(faults, c.Toolkit.Faults("toolkit", func(name string) bool {
		return slices.Contains(agent.ToolNames(), name) || servers.Owns(name) || shelf.Owns(name)
	})...)
	return append(faults, c.Policies.Faults("policies")...).OrNil()
}

// toolboxes are the external tools of a configuration. They are opened when an agent needs them, and closed when they are retired
// and the last agent has dropped them.
type toolboxes struct {
	mcp    *mcp.Pool
	served *served.Toolset
	// placed are the servers that run in the workspaces of runs; placing tells which tools they have without starting one.
	placed  map[string]mcp.Server
	placing *mcp.Pool
	// settings are those of all pools of servers.
	settings mcp.Settings
	// plans connects to the planner, which stores the plan documents of agents.
	plans *client.Client
	// known is false without a configuration that lists tools.
	known bool

	mu      sync.Mutex // Guards the fields below.
	holders int
	retired bool
}

// newToolboxes makes the tools of a configuration file; p is nil if they are only checked.
func newToolboxes(c *ToolConfig, file string, s *Settings, p *host.Process) *toolboxes {
	settings := mcp.Settings{Dir: filepath.Dir(file), Path: s.CommandPath, WorkDir: s.WorkDir, Grace: s.KillGrace, Keeper: s.keeper, Secrets: s.secrets, Logger: slog.New(slog.DiscardHandler)}
	t := &toolboxes{served: served.New(c.Tools), known: p != nil || len(c.Tools)+len(c.MCPServers)+len(c.Toolkit) > 0}
	if p != nil {
		settings.Logger, settings.Version = p.Log, host.ReadBuild(p.Name).Version
	}
	placed, shared := mcp.Apart(c.MCPServers)
	t.mcp, t.placed, t.placing, t.settings = mcp.New(shared, settings), placed, mcp.New(placed, settings), settings
	return t
}

// entrust registers the tools for closing at the end of the process.
func (t *toolboxes) entrust(p *host.Process) {
	p.Cleanup("tools of experts", afterDrain, func(context.Context) error { t.close(); return nil })
}

// list returns the toolboxes for an agent. If the tools are not known, it is one that accepts any name of a server's tool.
func (t *toolboxes) list() []agent.Toolbox {
	if !t.known {
		return []agent.Toolbox{anyBox{server: true}}
	}
	return []agent.Toolbox{t.mcp, t.served}
}

// attach gives the tools on the bus their connection, before any of them is opened. Tools that have one keep it.
func (t *toolboxes) attach(b *bus.Bus) {
	t.served.Attach(served.OnBus(b))
	if t.plans == nil { // Until it is set, no other goroutine uses the toolboxes.
		t.plans = client.New(b)
	}
}

// planner returns the plan operations as a tool for an agent at work. The agents of a job share a plan document, and see only the
// graph of their own job. Operations may be repeated: a repeat changes nothing and says so.
func (t *toolboxes) planner(w *events.Work) tool.Tool {
	p := client.PlanTool{Client: t.plans, Book: bus.AgentBook(w.Job), Job: w.Job, Step: w.SubJob, Run: w.Run}
	return tool.Tool{
		Name: agent.Planning, Description: p.Description(), Schema: p.Schema(), Ordered: true,
		Call: func(ctx context.Context, c tool.Call) (string, error) {
			p := p
			p.Key = c.Key
			return p.Call(ctx, c.Args)
		},
	}
}

// hold keeps the toolboxes open until drop.
func (t *toolboxes) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holders++
}

// drop must be called once for each hold.
func (t *toolboxes) drop() {
	t.mu.Lock()
	t.holders--
	last := t.retired && t.holders == 0
	t.mu.Unlock()
	if last {
		t.close()
	}
}

// retire declares that no more references will be taken.
func (t *toolboxes) retire() {
	t.mu.Lock()
	t.retired = true
	last := t.holders == 0
	t.mu.Unlock()
	if last {
		t.close()
	}
}

// close ends everything that they started. It may be called more than once.
func (t *toolboxes) close() {
	t.mcp.Close()
	t.placing.Close()
}

// anyBox represents unknown tools; with server it accepts only names of server tools.
type anyBox struct{ server bool }

// Owns implements agent.Toolbox.
func (b anyBox) Owns(pattern string) bool { return !b.server || strings.Contains(pattern, "__") }

// Open implements agent.Toolbox; the box is empty.
func (anyBox) Open(context.Context, []string) ([]tool.Tool, error) {
	return nil, errors.New("the tools are not known")
}
