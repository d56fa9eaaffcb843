package host

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// File is a parsed file that can still locate faults: it knows the positions of its keys. A nil File locates nothing.
type File struct{ document *document }

// Placed adds the file name, and the line and column of the fault's field or of its nearest ancestor.
func (f *File) Placed(fault Fault) Fault {
	if f == nil {
		return fault
	}
	return f.document.placed(fault)
}

// Brief is a value written either as a single text or in full as keys and values.
type Brief[T any] struct {
	// Text is the single text, empty for the full form.
	Text string
	// Full is the full form; nil for a single text.
	Full *T
}

// UnmarshalYAML accepts either form.
func (b *Brief[T]) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*b = Brief[T]{}
		return node.Decode(&b.Text)
	}
	b.Text, b.Full = "", new(T)
	return node.Decode(b.Full)
}

// Form returns the type of the full form.
func (b *Brief[T]) Form() reflect.Type { return reflect.TypeFor[T]() }

// brief is implemented by every Brief, whatever its full form.
type brief interface{ Form() reflect.Type }

// formOf returns the type to check a node of type t against: for a Brief in full form the type of that form, so that its
// keys are checked like any others.
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
