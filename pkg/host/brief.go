package host

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// File is a file that was read, for as long as faults may still be found in it: it knows where its keys stand. Nil knows nothing.
type File struct{ document *document }

// Placed gives a fault the file, and the line and column of its field or of the nearest one above it.
func (f *File) Placed(fault Fault) Fault {
	if f == nil {
		return fault
	}
	return f.document.placed(fault)
}

// Brief is a value that is given as a single text, or in full as keys and values.
type Brief[T any] struct {
	// Text is the single text, empty when there is more.
	Text string
	// Full is what the keys and values say; nil for a single text.
	Full *T
}

// UnmarshalYAML takes either form.
func (b *Brief[T]) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*b = Brief[T]{}
		return node.Decode(&b.Text)
	}
	b.Text, b.Full = "", new(T)
	return node.Decode(b.Full)
}

// Form is the type of the full form.
func (b *Brief[T]) Form() reflect.Type { return reflect.TypeFor[T]() }

// brief is any Brief.
type brief interface{ Form() reflect.Type }

// formOf is the type as which a node of type t is judged: for a Brief that of the form it has, so that its keys are judged like
// any others.
func formOf(node *yaml.Node, t reflect.Type) reflect.Type {
	b, ok := reflect.New(t).Interface().(brief)
	switch {
	case !ok:
		return t
	case node.Kind == yaml.ScalarNode:
		return reflect.TypeFor[string]()
	}
	return b.Form()
}
