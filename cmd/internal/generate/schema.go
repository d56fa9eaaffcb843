package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/jobgraph/jobgraph/pkg/events"
	runbrief "github.com/jobgraph/jobgraph/pkg/events/brief"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// addSchemas makes a JSON Schema of every payload, of requests, plans, work and cards, and of the inputs and outputs of verbs.
func addSchemas(files map[string][]byte) error {
	types := map[string]reflect.Type{
		"request": reflect.TypeFor[events.Request](), "plan": reflect.TypeFor[events.Plan](),
		"work": reflect.TypeFor[events.Work](), "card": reflect.TypeFor[events.Card](),
		"journal": reflect.TypeFor[events.JournalRecord](), "fault": reflect.TypeFor[events.Fault](),
	}
	for _, d := range events.Definitions() {
		types[string(d.Kind)] = reflect.TypeOf(d.New()).Elem()
	}
	if err := writeSchemas(files, "pkg/events/schemas/", types); err != nil {
		return err
	}
	recurring := map[string]reflect.Type{"schedule": reflect.TypeFor[schedule.Spec]()}
	for _, d := range schedule.Definitions() {
		recurring[string(d.Kind)] = reflect.TypeOf(d.New()).Elem()
	}
	if err := writeSchemas(files, "pkg/events/schedule/schemas/", recurring); err != nil {
		return err
	}
	return writeSchemas(files, "pkg/verb/schemas/", verb.Types())
}

// writeSchemas writes each schema into a file of a folder, for readers, and all of them into one beside it, which programs embed.
func writeSchemas(files map[string][]byte, folder string, types map[string]reflect.Type) error {
	all := map[string]json.RawMessage{}
	options := &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[events.Duration]():      {Types: []string{"string", "number"}, Description: "a span of time, \"1m30s\", or seconds"},
		reflect.TypeFor[json.RawMessage]():      {Description: "any JSON"},
		reflect.TypeFor[time.Time]():            {Type: "string", Format: "date-time"},
		reflect.TypeFor[events.FailurePolicy](): {Type: "string", Enum: []any{"fail_fast", "continue", "replan"}},
		reflect.TypeFor[events.Outcome]():       {Type: "string", Enum: []any{"SUCCESS", "EXECUTION_ERROR", "INPUT_DATA_ERROR", "JOB_TOO_COMPLICATED_ERROR"}},
	}}
	for name, t := range types {
		schema, err := jsonschema.ForType(t, options)
		if err != nil {
			return fmt.Errorf("schema of %s: %w", name, err)
		}
		if t == reflect.TypeFor[events.Work]() {
			if schema.Properties["brief"], err = jsonschema.ForType(reflect.TypeFor[runbrief.Brief](), options); err != nil {
				return fmt.Errorf("schema of a brief: %w", err)
			}
		}
		if t == reflect.TypeFor[events.SubJobReported]() { // A worker may send its error as a bare text, see Fault.UnmarshalJSON.
			fault := schema.Properties["error"]
			fault.Types, fault.Description = append(fault.Types, "string"), "a fault, or its message alone"
		}
		schema.Schema, schema.Title = "https://json-schema.org/draft/2020-12/schema", name
		lenient(schema)
		optional(schema, t)
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			return fmt.Errorf("schema of %s: %w", name, err)
		}
		files[folder+name+".json"] = append(text, '\n')
		all[name] = text
	}
	text, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("schemas in %s: %w", folder, err)
	}
	files[strings.TrimSuffix(folder, "/")+".json"] = append(text, '\n')
	return nil
}

// lenient allows unknown fields: wire forms only grow, and an old schema must not reject a newer writer.
func lenient(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		lenient(p)
	}
	lenient(s.Items)
	lenient(s.AdditionalProperties)
}

// optional requires no field of a struct that is embedded by a pointer: if the pointer is nil, all of them are absent.
func optional(s *jsonschema.Schema, t reflect.Type) {
	if s == nil {
		return
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		optional(s, t.Elem())
		optional(s.Items, t.Elem())
	case reflect.Map:
		optional(s.AdditionalProperties, t.Elem())
	case reflect.Struct:
		for f := range t.Fields() {
			if f.Anonymous {
				inner := f.Type
				if inner.Kind() == reflect.Pointer {
					inner = inner.Elem()
					s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return slices.Contains(jsonNames(inner), name) })
				}
				optional(s, inner)
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			optional(s.Properties[name], f.Type)
		}
	}
}

// jsonNames returns the JSON names of a struct's fields.
func jsonNames(t reflect.Type) (names []string) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
