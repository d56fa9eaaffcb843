package app

import (
	"context"
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/mcp"
)

// ToolServer is an MCP server of a configuration with what it offers.
type ToolServer struct {
	// Server is its name in the configuration.
	Server string `json:"server"`
	// Digest is that of its list of tools, as a pin names it; Pinned says that the configuration has one.
	Digest string `json:"digest,omitempty"`
	Pinned bool   `json:"pinned"`
	// Tools are sorted by name.
	Tools []ServerTool `json:"tools"`
	// Error says why it cannot be used.
	Error string `json:"error,omitempty"`
}

// ServerTool is one tool of a server.
type ServerTool struct {
	// Name is what cards and policies call it.
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	// Repeatable says that it may be called again when it is unknown whether a call took effect.
	Repeatable bool `json:"repeatable"`
}

// ListTools starts every MCP server of a configuration file, asks what it offers, and ends it.
func ListTools(ctx context.Context, file string, env host.Env) ([]ToolServer, error) {
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
	return servers, ctx.Err()
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
