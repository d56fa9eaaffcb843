package host

import (
	"reflect"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"go.yaml.in/yaml/v3"
)

// rest checks the readable part of a file in which some values cannot be decoded, so that one run reports everything. Those
// values are left out, and faults that may only be a consequence of that are not reported. If a whole section cannot be
// decoded, nothing more is checked, since other sections may refer to it.
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

// within reports whether a field is another one or part of it; everything is part of the whole file.
func within(field, of string) bool {
	rest, ok := strings.CutPrefix(field, of)
	return ok && (of == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}
