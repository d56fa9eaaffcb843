package template

import (
	"fmt"
	"maps"
	"strings"
	"text/template/parse"
)

// Template is a set of named templates. It is safe for concurrent use once it has been parsed.
type Template struct{ trees map[string]*parse.Tree }

// Parse parses a template and those that it defines. Errors: a syntax error with name and line, and an unknown
// function.
func Parse(name, text string) (*Template, error) {
	t := &Template{map[string]*parse.Tree{}}
	return t, t.Add(name, text)
}

// Add parses more templates into the set. One that is not empty replaces an existing one with the same name.
func (t *Template) Add(name, text string) error {
	trees, err := parse.Parse(name, text, "", "", known)
	if err != nil {
		return err
	}
	for name, tree := range trees {
		if old := t.trees[name]; old != nil && parse.IsEmptyTree(tree.Root) {
			delete(trees, name)
		}
	}
	maps.Copy(t.trees, trees)
	return nil
}

// Has reports whether the set has a template of this name.
func (t *Template) Has(name string) bool { return t.trees[name] != nil }

// Execute returns the text of a template for some data. A field or key that the data does not have is an error that names the
// place.
func (t *Template) Execute(name string, data any) (text string, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			f, ours := fault.(failure)
			if !ours {
				panic(fault)
			}
			err = f.err
		}
	}()
	var out strings.Builder
	e := &execution{of: t, out: &out}
	e.call(name, valueOf(data), nil)
	return out.String(), nil
}

// failure is the panic value that carries an error up to Execute.
type failure struct{ err error }

// fail ends the execution with an error at a node.
func (e *execution) fail(at parse.Node, format string, args ...any) {
	place, context := e.tree.ErrorContext(at)
	panic(failure{fmt.Errorf("template: %s: at <%s>: %s", place, context, fmt.Sprintf(format, args...))})
}
