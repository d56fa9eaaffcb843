package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/llm/lenient"
)

// Tool is something that a model may call.
type Tool struct {
	// Name, Description and Schema describe it to the model; Schema is the JSON Schema of the arguments.
	Name, Description string
	Schema            json.RawMessage
	// Local tools change nothing but the workspace: they are called in order, and again in a new workspace even if the result is
	// known.
	Local bool
	// Ordered tools have a state of their own: their calls in one answer are made in its order, not at once.
	Ordered bool
	// Once tools may have taken effect if a call returned nothing: such a call is not repeated, and a person is asked. Any other
	// tool may be called again after a crash.
	Once bool
	// Files tools change the workspace in ways that are not known beforehand: the changes are stored with the result of a call, and
	// a run that continues in a new workspace gets them without another call. They are called in order.
	Files bool
	// Digest identifies the version of a tool when the run began, for tools that others can change; empty for the runner's own.
	Digest string
	// Call executes it. An error is shown to the model, unless it is expert.ErrUnknown.
	Call func(ctx context.Context, c Call) (string, error)
}

// Call is what a tool gets when it is called.
type Call struct {
	// Args are the arguments of the model, normalised by Object.
	Args string
	// Key is the same in every attempt of this call and unique to it, for services that must not do something twice.
	Key string
	// Said passes on what a long call prints; may be nil.
	Said func(text string)
}

// The names of the tools.
const (
	ReadFile  = "read_file"
	WriteFile = "write_file"
	ListFiles = "list_files"
	Fetch     = "fetch"

	ListKnowledge   = "list_knowledge"
	ReadKnowledge   = "read_knowledge"
	SearchKnowledge = "search_knowledge"

	Remember = "remember"

	SQL  = "sql"
	Plot = "plot"
	PDF  = "pdf"

	Browser = "browser"
)

// BenchNames lists the tools of the program jobgraph-tools, which runs in the workspace, in order.
func BenchNames() []string { return []string{PDF, Plot, SQL} }

// BenchTimeout limits a call of one of these tools; their own limits are shorter.
const BenchTimeout = 3 * time.Minute

// Names lists all tools in order.
func Names() []string {
	return []string{
		Browser, Edit, Fetch, Find, ListFiles, ListKnowledge, PDF, Plot, ReadFile, ReadKnowledge, Remember, Run, SearchKnowledge, SearchWeb, SQL, WriteFile,
	}
}

// NeedsWorkspace reports whether any of these tools works on files.
func NeedsWorkspace(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return slices.Contains([]string{Edit, Find, ListFiles, ReadFile, Run, WriteFile}, name)
	})
}

// Object parses arguments as every tool and policy sees them: one JSON object, with common mistakes of models repaired, and
// without duplicate names. No arguments are an empty object.
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
	if object == nil { // The arguments are null.
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

// Arguments is Object for the arguments of a tool with a JSON Schema, which settles what is open in them. Ambiguous or truncated
// arguments are an error that names the place; they must not be used.
func Arguments(args string, schema json.RawMessage) (object string, trust string, err error) {
	if strings.TrimSpace(args) == "" {
		return "{}", lenient.Unchanged.String(), nil
	}
	r, err := lenient.Examine(args, lenient.Options{Fits: objectOrNull, Shape: lenient.ShapeOf(schema)})
	if err != nil {
		return "", "none", fmt.Errorf("the arguments are no JSON object: %w", err)
	}
	if trust = r.Trust.String(); r.Trust == lenient.Guessed {
		return "", trust, fmt.Errorf("nothing was done, since the arguments can be read in more than one way: %v. Call again with one valid JSON object", r.Doubt)
	}
	object, err = Object(string(r.JSON))
	return object, trust, err
}

// objectOrNull accepts values that may be the arguments.
func objectOrNull(value json.RawMessage) bool {
	return lenient.Object(value) || string(value) == "null"
}

// decode parses the arguments of a built-in tool strictly.
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
