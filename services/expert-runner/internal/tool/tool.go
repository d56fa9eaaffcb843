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
	// Once tools may have taken effect when a call brought nothing back: they are not called again then, and a person is asked.
	// Any other may be called again after a crash.
	Once bool
	// Digest is what a tool was when the run began to use it, for those that others can change; empty for those of the runner.
	Digest string
	// Call does it. An error is for the model, unless it is an expert's ErrUnknown.
	Call func(ctx context.Context, c Call) (string, error)
}

// Call is one call of a tool.
type Call struct {
	// Args are the arguments: what the model wrote, as Object has read it.
	Args string
	// Key is the same in every attempt to make this call, and of no other call: for services that must not do a thing twice.
	Key string
}

// The names of the tools.
const (
	ReadFile  = "read_file"
	WriteFile = "write_file"
	ListFiles = "list_files"
	Fetch     = "fetch"

	ListKnowledge = "list_knowledge"
	ReadKnowledge = "read_knowledge"
)

// Names lists all tools in order.
func Names() []string {
	return []string{Fetch, ListFiles, ListKnowledge, ReadFile, ReadKnowledge, WriteFile}
}

// NeedsWorkspace reports whether any of these tools works on files.
func NeedsWorkspace(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return name == ReadFile || name == WriteFile || name == ListFiles })
}

// Object reads arguments as every tool and every policy sees them: one JSON object, put right where models often get it
// wrong, in which no name comes twice. No arguments are an empty object.
func Object(args string) (string, error) {
	if strings.TrimSpace(args) == "" {
		return "{}", nil
	}
	raw := []byte(args)
	if !json.Valid(raw) {
		found, _, err := lenient.Read(args, lenient.Options{Fits: lenient.Object})
		if err != nil {
			return "", fmt.Errorf("the arguments are no JSON object: %w", err)
		}
		raw = found
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return "", errors.New("the arguments are no JSON object")
	}
	if object == nil { // null
		return "{}", nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(object); err != nil {
		return "", fmt.Errorf("the arguments are no JSON object: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// decode reads the arguments of a tool of ours strictly.
func decode(args string, into any) error {
	object, err := Object(args)
	if err != nil {
		return err
	}
	d := json.NewDecoder(strings.NewReader(object))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return errors.New("bad arguments: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
