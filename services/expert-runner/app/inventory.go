package app

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/workspace"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/mcp"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/sandbox"
)

// ToolServer is an MCP server of a configuration with what it offers.
type ToolServer struct {
	// Server is its name in the configuration.
	Server string `json:"server"`
	// Digest is the digest of its list of tools, as a pin names it; Pinned says that the configuration has one.
	Digest string `json:"digest,omitempty"`
	Pinned bool   `json:"pinned"`
	// Tools are sorted by name.
	Tools []ServerTool `json:"tools"`
	// Error says why the server cannot be used; then there are no tools.
	Error string `json:"error,omitempty"`
}

// ServerTool describes a tool that an MCP server offers.
type ServerTool struct {
	// Name is what cards and policies call it.
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	// Repeatable says that it may be called again when it is unknown whether a call took effect.
	Repeatable bool `json:"repeatable"`
}

// ListTools starts every MCP server of a configuration file, asks for its tools, and ends it. Servers that run in workspaces are
// started in an empty one, in the sandbox.
func ListTools(ctx context.Context, file string, env host.Env, box Sandbox) ([]ToolServer, error) {
	read := readBook(file, nil, env)
	if err := read.faults.Err(); err != nil {
		return nil, err
	}
	s := Default()
	s.secrets = redact.NewSet(read.secrets...)
	boxes := newToolboxes(&read.config.ToolConfig, file, &s, nil)
	defer boxes.close()
	servers := []ToolServer{}
	for _, found := range boxes.mcp.Inventory(ctx) {
		servers = append(servers, toolServer(&found))
	}
	if len(boxes.placed) > 0 {
		s.boxes = sandbox.NewBoxes(box)
		servers = append(servers, placedTools(ctx, &s, boxes)...)
	}
	slices.SortFunc(servers, func(a, b ToolServer) int { return strings.Compare(a.Server, b.Server) })
	return servers, ctx.Err()
}

// placedTools lists the tools of servers that run in workspaces.
func placedTools(ctx context.Context, s *Settings, boxes *toolboxes) (servers []ToolServer) {
	box, policy, err := s.open(&sandboxSpec{}, "")
	var dir string
	if err == nil {
		dir, err = workspace.Make("")
	}
	if err != nil {
		for name := range boxes.placed { // any order: the caller sorts.
			servers = append(servers, ToolServer{Server: name, Tools: []ServerTool{}, Error: err.Error()})
		}
		return servers
	}
	defer func() { _ = workspace.Discard(dir) }() // The next sweep of a runner removes it.
	policy.Limits = boundedPrograms(policy.Limits)
	b := &bench{servers: boxes.placed, settings: boxes.settings, programs: s.programs(box, policy)}
	pool := mcp.New(b.servers, b.at(ctx, &expert.Task{Work: &events.Work{}}, dir))
	defer pool.Close()
	for _, found := range pool.Inventory(ctx) {
		servers = append(servers, toolServer(&found))
	}
	return servers
}

func toolServer(found *mcp.Inventory) ToolServer {
	one := ToolServer{Server: found.Server, Digest: found.Digest, Pinned: found.Pinned, Tools: []ServerTool{}}
	if found.Fault != nil {
		one.Error = found.Fault.Error()
	}
	for i := range found.Tools {
		t := &found.Tools[i]
		one.Tools = append(one.Tools, ServerTool{Name: t.Name, Description: t.Description, Schema: t.Schema, Repeatable: !t.Once})
	}
	return one
}
