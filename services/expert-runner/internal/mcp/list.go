package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
)

// Limits of a server's list of tools.
const (
	maxTools       = 512
	maxSchema      = 64 << 10
	maxDescription = 4 << 10
)

// Listed is a tool as its server describes it.
type Listed struct {
	// Name is the name for models, Title the server's name.
	Name, Title string
	// Description and Schema are shown to models.
	Description string
	Schema      json.RawMessage
	// Once is true if the tool must not be repeated after an unknown outcome: its server says neither that it only reads
	// nor that it is idempotent.
	Once bool
	// Digest changes with every change of the server's description.
	Digest string
}

// listed asks a server for its tools and returns them sorted by name.
func listed(ctx context.Context, server string, client *sdk.ClientSession) ([]Listed, error) {
	if r := client.InitializeResult(); r != nil && r.Capabilities != nil && r.Capabilities.Tools == nil {
		return nil, nil
	}
	var list []Listed
	for t, err := range client.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		if len(list) == maxTools {
			return nil, fmt.Errorf("list tools: there are more than %d", maxTools)
		}
		one, err := describe(server, t)
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(list); i++ {
		if list[i].Name == list[i-1].Name {
			return nil, fmt.Errorf("list tools: %.80q and %.80q would have the same name", list[i-1].Title, list[i].Title)
		}
	}
	return list, nil
}

func describe(server string, t *sdk.Tool) (Listed, error) {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil {
		return Listed{}, fmt.Errorf("schema of %.80q: %w", t.Name, err)
	}
	if string(schema) == "null" {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	if len(schema) > maxSchema {
		return Listed{}, fmt.Errorf("the schema of %.80q has %d bytes, at most %d are taken", t.Name, len(schema), maxSchema)
	}
	readOnly := t.Annotations != nil && t.Annotations.ReadOnlyHint
	idempotent := t.Annotations != nil && t.Annotations.IdempotentHint
	said, err := json.Marshal([]any{t.Name, t.Description, schema, readOnly, idempotent})
	if err != nil {
		return Listed{}, fmt.Errorf("description of %.80q: %w", t.Name, err)
	}
	return Listed{
		Name: toolName(server, t.Name), Title: t.Name, Description: conversation.Clip(strings.ToValidUTF8(t.Description, "�"), maxDescription),
		Schema: schema, Once: !readOnly && !idempotent, Digest: digest(said),
	}, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// digestOf returns the digest of a whole list.
func digestOf(list []Listed) string {
	var b strings.Builder
	for i := range list {
		b.WriteString(list[i].Name + " " + list[i].Digest + "\n")
	}
	return digest([]byte(b.String()))
}
