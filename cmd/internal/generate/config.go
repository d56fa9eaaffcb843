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
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
	scheduler "github.com/jobgraph/jobgraph/services/scheduler/app"
)

// brief is a host.Brief of any type.
type brief interface{ Form() reflect.Type }

// form is a JSON Schema; JSON objects are written with sorted keys.
type form = map[string]any

// configSchema makes the JSON Schema of jobgraph.yaml from the types that read it, with their comments.
func configSchema(root string) ([]byte, error) {
	c := configForms{docs: map[string]string{}}
	var files []string
	for _, pattern := range []string{
		"pkg/llm/config.go", "services/*/app/*.go", "services/expert-runner/internal/*/config.go", "services/expert-runner/internal/*/*/config.go", "services/expert-runner/internal/policy/rule.go",
		"services/expert-runner/internal/sandbox/policy.go", "services/expert-runner/internal/recommend/graph.go",
	} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	for _, file := range files {
		if err := c.read(root, file); err != nil {
			return nil, err
		}
	}
	schema := c.of(reflect.TypeFor[planner.Config]())
	c.fill(schema, reflect.TypeFor[runner.Config]())
	c.fill(schema, reflect.TypeFor[scheduler.Config]())
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

// configForms makes schemas of types; docs holds the comments of their fields, by "package.Type.Field".
type configForms struct{ docs map[string]string }

// module is the path before the packages of this repository.
const module = "github.com/jobgraph/jobgraph/"

// read collects the comments of a file's structs.
func (c configForms) read(root, name string) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	below, err := filepath.Rel(root, filepath.Dir(name))
	if err != nil {
		return err
	}
	room := filepath.ToSlash(below)
	ast.Inspect(file, func(n ast.Node) bool {
		t, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := t.Type.(*ast.StructType); ok {
			for _, field := range s.Fields.List {
				for _, named := range field.Names {
					c.docs[strings.Join([]string{room, t.Name.Name, named.Name}, ".")] = strings.Join(strings.Fields(field.Doc.Text()), " ")
				}
			}
		}
		return false
	})
	return nil
}

// fill adds to a schema the sections of the same file that another service reads.
func (c configForms) fill(schema form, t reflect.Type) {
	sections, _ := schema["properties"].(form) // The property is one of ours.
	for i := range t.NumField() {
		if field := t.Field(i); field.Type != reflect.TypeFor[host.Skip]() {
			c.property(sections, t, field)
		}
	}
}

// property adds a field to the properties of an object; an inline field adds its own fields.
func (c configForms) property(properties form, t reflect.Type, field reflect.StructField) {
	name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	if name == "-" {
		return
	}
	if options == "inline" {
		for i := range field.Type.NumField() {
			c.property(properties, field.Type, field.Type.Field(i))
		}
		return
	}
	p := c.of(field.Type)
	doc := c.docs[strings.Join([]string{strings.TrimPrefix(t.PkgPath(), module), t.Name(), field.Name}, ".")]
	if text, found := strings.CutPrefix(doc, field.Name+" "); found {
		p["description"] = name + " " + text
	}
	properties[name] = p
}

// of returns the schema of a type. Any value that is not a text may also be a reference, which is a text until it is
// expanded.
func (c configForms) of(t reflect.Type) form {
	reference := form{"type": "string", "pattern": `\$\{`}
	switch {
	case t == reflect.TypeFor[host.Skip]():
		return form{}
	case t == reflect.TypeFor[time.Duration]():
		return form{"type": "string", "description": "a span of time, 1m30s"}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[brief]()):
		value, _ := reflect.New(t).Interface().(brief) // Every type implements it.
		return form{"anyOf": []form{{"type": "string", "minLength": 1}, c.of(value.Form())}}
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
			c.property(properties, t, t.Field(i))
		}
		return form{"type": "object", "properties": properties, "additionalProperties": false}
	case reflect.Map:
		return form{"type": "object", "additionalProperties": c.of(t.Elem())}
	case reflect.Slice:
		return form{"type": "array", "items": c.of(t.Elem())}
	case reflect.Bool:
		return form{"anyOf": []form{{"type": "boolean"}, reference}}
	case reflect.Int, reflect.Int64:
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
