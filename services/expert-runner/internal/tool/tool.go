package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/llm/lenient"
)

// Tool is something that a model may ask to be called.
type Tool struct {
	// Name, Description and Schema tell the model of it; Schema is the JSON Schema of the arguments.
	Name, Description string
	Schema            json.RawMessage
	// Local tools change nothing but the workspace: they are called in order, and called again where the workspace is new
	// and the answer is known.
	Local bool
	// Call does it. args is what the model wrote. An error is for the model.
	Call func(ctx context.Context, args string) (string, error)
}

// The names of the tools.
const (
	ReadFile  = "read_file"
	WriteFile = "write_file"
	ListFiles = "list_files"
	Fetch     = "fetch"
)

// Names lists all tools in order.
func Names() []string { return []string{Fetch, ListFiles, ReadFile, WriteFile} }

// NeedsWorkspace reports whether any of these tools works on files.
func NeedsWorkspace(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return name == ReadFile || name == WriteFile || name == ListFiles })
}

// decode reads arguments strictly, after putting right what models often get wrong in JSON.
func decode(args string, into any) error {
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	raw := []byte(args)
	if !json.Valid(raw) {
		found, _, err := lenient.Read(args, lenient.Options{Fits: lenient.Object})
		if err != nil {
			return fmt.Errorf("the arguments are no JSON object: %w", err)
		}
		raw = found
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New("bad arguments: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
