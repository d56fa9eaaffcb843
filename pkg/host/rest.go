package host

import (
	"reflect"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"go.yaml.in/yaml/v3"
)

// rest judges what can be read of a file in which some values cannot, so that one look shows everything: those values are
// left out, and what may only be wrong because of that is not told. Where a whole section cannot be read, others may refer
// to it, and nothing more is judged.
func (d *document) rest(root *yaml.Node, t reflect.Type, had reflect.Value) {
	var out []string
	for _, f := range d.faults {
		node := d.places[f.Field]
		switch {
		case f.Code == events.CodeUnknownField, f.Field == keyVersion:
		case node == nil || d.torn:
			return
		default:
			*node = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: node.Line, Column: node.Column}
			out = append(out, f.Field)
		}
	}
	fresh := reflect.New(t)
	fresh.Elem().Set(had)
	v, ok := fresh.Interface().(Validator)
	if !ok || root.Decode(fresh.Interface()) != nil {
		return
	}
	for _, fault := range faultsOf(v.Validate()) {
		if !slices.ContainsFunc(out, func(field string) bool { return within(field, fault.Field) || within(fault.Field, field) }) {
			d.faults = append(d.faults, d.placed(fault))
		}
	}
}

// within is true for a field that is another one or a part of it; everything is part of the whole file.
func within(field, of string) bool {
	rest, ok := strings.CutPrefix(field, of)
	return ok && (of == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}
