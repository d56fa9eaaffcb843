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
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/agent"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/mcp"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/policy"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/served"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/toolkit"
)

// ToolConfig are the sections of jobgraph.yaml about what agents may use, and what they may do with it.
type ToolConfig struct {
	// MCPServers are servers of tools by name, in the shape that MCP clients share. A card names their tools server__tool, or by a
	// pattern: server__*.
	MCPServers map[string]mcp.Server `yaml:"mcpServers"`
	// Tools are tools by name that are served on the bus.
	Tools map[string]served.Tool `yaml:"tools"`
	// Toolkit are ways to go about work by name, with the tools that each of them is done with. A card that names some of them under
	// actions gets their tools.
	Toolkit toolkit.Graph `yaml:"toolkit"`
	// Policies say what becomes of calls of tools: the first rule that fits decides, and a call that none fits is made. A card may
	// have policies of its own; the strictest verdict of both holds.
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

// toolboxes are the tools of a configuration that are none of the runner's. They are opened when an agent needs them, and
// closed when they are retired and the last agent that holds them has dropped them.
type toolboxes struct {
	mcp    *mcp.Pool
	served *served.Shelf
	// plans reaches the planner, which keeps the plans of agents.
	plans *client.Client
	// known is false where no configuration says what tools there are.
	known bool

	mu      sync.Mutex // Guards the fields below.
	holders int
	retired bool
}

// newToolboxes makes them. The file is that of the configuration; p is nil when they are only looked at.
func newToolboxes(c *ToolConfig, file string, s *Settings, p *host.Process) *toolboxes {
	settings := mcp.Settings{Dir: filepath.Dir(file), Path: s.CommandPath, WorkDir: s.WorkDir, Grace: s.KillGrace, Keeper: s.keeper, Secrets: s.secrets, Logger: slog.New(slog.DiscardHandler)}
	t := &toolboxes{served: served.New(c.Tools), known: p != nil || len(c.Tools)+len(c.MCPServers)+len(c.Toolkit) > 0}
	if p != nil {
		settings.Logger, settings.Version = p.Log, host.ReadBuild(p.Name).Version
	}
	t.mcp = mcp.New(c.MCPServers, settings)
	return t
}

// entrust has them closed when the process ends.
func (t *toolboxes) entrust(p *host.Process) {
	p.Cleanup("tools of experts", afterDrain, func(context.Context) error { t.close(); return nil })
}

// list gives them to an agent.
func (t *toolboxes) list() []agent.Toolbox {
	if !t.known {
		return []agent.Toolbox{anyBox{server: true}}
	}
	return []agent.Toolbox{t.mcp, t.served}
}

// attach gives the tools on the bus their connection, before any is opened. Those that have one keep it.
func (t *toolboxes) attach(b *bus.Bus) {
	t.served.Attach(served.OnBus(b))
	if t.plans == nil { // Only the owner looks before that.
		t.plans = client.New(b)
	}
}

// planner is the plan operations as a tool for the agents of a job. They share a book, and see the graph of their own job alone. An
// operation may be repeated: what it has done once, it does not do again, but says.
func (t *toolboxes) planner(job string) tool.Tool {
	p := client.PlanTool{Client: t.plans, Book: bus.AgentBook(job), Job: job}
	return tool.Tool{
		Name: agent.Planning, Description: p.Description(), Schema: p.Schema(),
		Call: func(ctx context.Context, c tool.Call) (string, error) { return p.Call(ctx, c.Args) },
	}
}

// hold keeps them open until drop.
func (t *toolboxes) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holders++
}

// drop is said once for each hold.
func (t *toolboxes) drop() {
	t.mu.Lock()
	t.holders--
	last := t.retired && t.holders == 0
	t.mu.Unlock()
	if last {
		t.close()
	}
}

// retire declares that no further reference will be taken.
func (t *toolboxes) retire() {
	t.mu.Lock()
	t.retired = true
	last := t.holders == 0
	t.mu.Unlock()
	if last {
		t.close()
	}
}

// close ends what they have started. It may be called more than once.
func (t *toolboxes) close() { t.mcp.Close() }

// anyBox stands for toolboxes with unknown content; with server only names of servers' tools are taken for
// theirs.
type anyBox struct{ server bool }

// Owns implements agent.Toolbox.
func (b anyBox) Owns(pattern string) bool { return !b.server || strings.Contains(pattern, "__") }

// Open implements agent.Toolbox; nothing is in the box.
func (anyBox) Open(context.Context, []string) ([]tool.Tool, error) {
	return nil, errors.New("the tools are not known")
}
