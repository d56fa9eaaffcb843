package serve

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/tools/internal/browser"
	"github.com/jobgraph/jobgraph/tools/internal/place"
)

// Settings are the settings of the program.
type Settings struct {
	// Dir is the workspace whose files the tools may use.
	Dir place.Dir
	// Version is the version that the server tells its clients.
	Version string
	// Browser is what the tool browser works with. If it is set, no other tool is offered: tools that reach the web run in a
	// separate program.
	Browser *browser.Browser
}

// Run serves the tools on standard input and output until the input ends or ctx does.
func Run(ctx context.Context, s Settings) error {
	return New(s).Run(ctx, &sdk.StdioTransport{})
}

// New returns an MCP server with the tools.
func New(s Settings) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "jobgraph-tools", Version: s.Version}, &sdk.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	if s.Browser != nil {
		add(server, tool{"browser", browserText, false}, s.browse)
		return server
	}
	add(server, tool{"sql", sqlText, true}, s.sql)
	add(server, tool{"pdf", pdfText, true}, s.pdf)
	add(server, tool{"plot", plotText, true}, s.plot)
	return server
}

// tool is the description of a tool for the model.
type tool struct {
	name, text string
	// again says that a call may be repeated: with the same files it gives the same result.
	again bool
}

// schemaOf returns the schema of arguments. A list may be left out but is never null: some providers accept only one type for a
// value.
func schemaOf[In any]() *jsonschema.Schema {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err) // The arguments are types of this package.
	}
	for _, property := range schema.Properties { // any order: each is changed separately.
		if len(property.Types) == 2 && property.Types[0] == "null" {
			property.Type, property.Types = property.Types[1], nil
		}
	}
	return schema
}

// add offers a tool. If it cannot do its work, or fails, the model gets an error as the answer.
func add[In any](server *sdk.Server, t tool, call func(context.Context, *In) (string, error)) {
	described := &sdk.Tool{Name: t.name, Description: t.text, InputSchema: schemaOf[In](), Annotations: &sdk.ToolAnnotations{IdempotentHint: t.again}}
	sdk.AddTool(server, described, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (result *sdk.CallToolResult, _ any, err error) {
		defer func() {
			if value := recover(); value != nil {
				err = fmt.Errorf("the tool broke: %v", value)
			}
		}()
		said, err := call(ctx, &in)
		if err != nil {
			return nil, nil, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: said}}}, nil, nil
	})
}
