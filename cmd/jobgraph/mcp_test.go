package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// bank is the server, with its book.
func bank(path string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "bank", Version: "v1"}, nil)
	add := func(name, description string, readOnly bool, does func(args string) (string, error)) {
		t := &sdk.Tool{
			Name: name, Description: description, InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: readOnly},
		}
		s.AddTool(t, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			text, err := does(string(r.Params.Arguments))
			if err != nil {
				return nil, err
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
		})
	}
	add("balance", "Says what is left.", true, func(string) (string, error) { return "there are 7 left", nil })
	add("find", "Finds passages.", true, func(args string) (string, error) {
		passages := []map[string]any{{"source": "policies.pdf p. 3", "heading": "Travel", "text": "Paid back within 30 days. Asked with " + args, "score": 0.8}}
		text, err := json.Marshal(map[string]any{"passages": passages})
		return string(text), err
	})
	add("pay", "Pays an order.", false, func(args string) (string, error) {
		book, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer book.Close()
		_, err = fmt.Fprintln(book, args)
		return "paid " + args, err
	})
	return s
}
