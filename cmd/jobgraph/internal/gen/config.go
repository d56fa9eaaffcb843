package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
)

// form is a JSON Schema; an object of JSON is written with its keys in order.
type form = map[string]any

// configSchema makes the JSON Schema of jobgraph.yaml out of the types that read it, with their comments.
func configSchema(root string) ([]byte, error) {
	c := configForms{docs: map[string]string{}}
	for _, file := range []string{"pkg/llm/config.go", "services/planner/app/config.go"} {
		if err := c.read(filepath.Join(root, filepath.FromSlash(file))); err != nil {
			return nil, err
		}
	}
	schema := c.of(reflect.TypeFor[planner.Config]())
	schema["$schema"], schema["title"], schema["required"] = "https://json-schema.org/draft/2020-12/schema", "jobgraph.yaml", []string{"version"}
	properties, ok := schema["properties"].(form)
	if !ok {
		return nil, fmt.Errorf("schema of the configuration: no properties")
	}
	properties["version"] = form{"const": host.ConfigVersion}
	properties["settings"] = form{"type": "object", "description": "Settings of every program by their flags' names; those of one program stand below its name."}
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}

// configForms makes schemas of types; docs are the comments of their fields, by "Type.Field".
type configForms struct{ docs map[string]string }

// read collects the comments of a file's structs.
func (c configForms) read(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		t, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := t.Type.(*ast.StructType); ok {
			for _, field := range s.Fields.List {
				for _, name := range field.Names {
					c.docs[t.Name.Name+"."+name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
				}
			}
		}
		return false
	})
	return nil
}

// of is the schema of a type. What is no text may also be a reference, which is a text until it is read.
func (c configForms) of(t reflect.Type) form {
	reference := form{"type": "string", "pattern": `\$\{`}
	switch {
	case t == reflect.TypeFor[host.Skip]():
		return form{}
	case t == reflect.TypeFor[time.Duration]():
		return form{"type": "string", "description": "a span of time, 1m30s"}
	case t == reflect.TypeFor[llm.Class]():
		return form{"enum": texts(llm.Classes())}
	case t == reflect.TypeFor[llm.Rung]():
		return form{"enum": texts(llm.Rungs())}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return c.of(t.Elem())
	case reflect.Struct:
		properties := form{}
		for i := range t.NumField() {
			field := t.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			p := c.of(field.Type)
			if doc, found := strings.CutPrefix(c.docs[t.Name()+"."+field.Name], field.Name+" "); found {
				p["description"] = name + " " + doc
			}
			properties[name] = p
		}
		return form{"type": "object", "properties": properties, "additionalProperties": false}
	case reflect.Map:
		return form{"type": "object", "additionalProperties": c.of(t.Elem())}
	case reflect.Slice:
		return form{"type": "array", "items": c.of(t.Elem())}
	case reflect.Bool:
		return form{"anyOf": []form{{"type": "boolean"}, reference}}
	case reflect.Int:
		return form{"anyOf": []form{{"type": "integer", "minimum": 0}, reference}}
	case reflect.Float64:
		return form{"anyOf": []form{{"type": "number", "minimum": 0}, reference}}
	case reflect.String:
		return form{"type": "string"}
	}
	return form{}
}

func texts[T ~string](list []T) []string {
	names := make([]string, len(list))
	for i, item := range list {
		names[i] = string(item)
	}
	slices.Sort(names)
	return names
}
