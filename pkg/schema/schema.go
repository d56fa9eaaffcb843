package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// Read compiles a schema. The error says what is wrong with it.
func Read(raw json.RawMessage) (*Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	const name = "schema:"
	c := jsonschema.NewCompiler()
	c.UseLoader(noDocuments{})
	if err := c.AddResource(name, document); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	compiled, err := c.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return &Schema{compiled}, nil
}

// Misfits lists all places where a value does not fit, each as "/place: what is wrong", sorted; none if it fits.
func (s *Schema) Misfits(value json.RawMessage) []string {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return []string{"is no JSON"}
	}
	var invalid *jsonschema.ValidationError
	if err := s.compiled.Validate(v); !errors.As(err, &invalid) {
		return nil
	}
	found := leaves(invalid, message.NewPrinter(language.English))
	slices.Sort(found)
	return slices.Compact(found)
}

// leaves returns the innermost causes of an error as texts.
func leaves(e *jsonschema.ValidationError, p *message.Printer) []string {
	if len(e.Causes) == 0 {
		if _, group := e.ErrorKind.(*kind.Group); group {
			return nil
		}
		return []string{"/" + strings.Join(e.InstanceLocation, "/") + ": " + e.ErrorKind.LocalizedString(p)}
	}
	var found []string
	for _, below := range e.Causes {
		found = append(found, leaves(below, p)...)
	}
	return found
}

// noDocuments is a loader that loads nothing.
type noDocuments struct{}

func (noDocuments) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: references to other documents are not followed", url)
}

// Check returns what is wrong with a schema, or nil.
func Check(raw json.RawMessage) error {
	_, err := Read(raw)
	return err
}
