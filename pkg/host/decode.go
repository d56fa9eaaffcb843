package host

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"go.yaml.in/yaml/v3"
)

// visit is one node checked as one type. Anchors make nodes that are reached several times but checked once.
type visit struct {
	node *yaml.Node
	kind reflect.Type
}

// decode checks the whole tree against the type of out, then fills out.
func (d *document) decode(root *yaml.Node, out any) error {
	target := reflect.ValueOf(out)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("decode %s: the target must be a pointer, is %T", d.path, out)
	}
	d.walk(root, target.Type().Elem(), "")
	if !d.fits() {
		d.rest(root, target.Type().Elem(), target.Elem())
		return d.sorted()
	}
	fresh := reflect.New(target.Type().Elem())
	fresh.Elem().Set(target.Elem())
	if err := root.Decode(fresh.Interface()); err != nil {
		return Faults{d.syntaxFault(err)}
	}
	if v, ok := fresh.Interface().(Validator); ok {
		for _, fault := range faultsOf(v.Validate()) {
			d.faults = append(d.faults, d.placed(fault))
		}
	}
	if len(d.faults) > 0 {
		return d.sorted()
	}
	target.Elem().Set(fresh.Elem())
	return nil
}

// fits reports whether the values can be decoded; unknown keys alone do not prevent that.
func (d *document) fits() bool {
	return !slices.ContainsFunc(d.faults, func(f Fault) bool { return f.Code != events.CodeUnknownField })
}

func (d *document) sorted() error {
	slices.SortStableFunc(d.faults, func(a, b Fault) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return d.faults
}

// placed adds the position to a Validator's fault: that of its field, or of its nearest ancestor in the file.
func (d *document) placed(fault Fault) Fault {
	fault.File = d.path
	for field := fault.Field; fault.Line == 0 && field != ""; {
		if node := d.places[field]; node != nil {
			fault.Line, fault.Column = node.Line, node.Column
		}
		field = field[:max(0, strings.LastIndexAny(field, ".["))]
	}
	if fault.Line == 0 && d.root != nil {
		fault.Line, fault.Column = d.root.Line, d.root.Column
	}
	return fault
}

func (d *document) walk(node *yaml.Node, t reflect.Type, field string) {
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if field != "" && d.places[field] == nil {
		d.places[field] = node
	}
	if d.seen[visit{node, t}] || t == reflect.TypeFor[Skip]() {
		return
	}
	d.seen[visit{node, t}] = true
	if form := formOf(node, t); form != t {
		if node.ShortTag() == "!!null" { // It would not be decoded, and the list would be one element shorter.
			d.fault(node, field, events.CodeMissing, "is empty, expected a text, or keys and values", "")
			return
		}
		d.walk(node, form, field)
		return
	}
	switch {
	case readsItself(t):
		d.expandAll(node, field, field)
		d.leaf(node, t, field)
	case node.Kind == yaml.ScalarNode:
		d.scalar(node, t, field)
	case t.Kind() == reflect.Interface:
		d.any(node, t, field)
	case node.Kind == yaml.MappingNode && t.Kind() == reflect.Struct && !readsText(t):
		d.structure(node, t, field)
	case node.Kind == yaml.MappingNode && t.Kind() == reflect.Map:
		d.mapping(node, t.Elem(), field)
	case node.Kind == yaml.SequenceNode && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
		d.sequence(node, t.Elem(), field)
	default:
		d.torn = true
		d.fault(node, field, events.CodeInvalid, "is "+nodeKind(node)+", expected "+expected(t), "")
	}
}

func (d *document) scalar(node *yaml.Node, t reflect.Type, field string) {
	if !d.expand(node, field, field) {
		return
	}
	if _, was := d.raw[node]; was && node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		node.Tag = "" // It was unquoted, so its type is only known now.
		if t.Kind() == reflect.String || readsText(t) {
			node.Tag = "!!str"
		}
	}
	if node.ShortTag() == "!!null" {
		return
	}
	d.leaf(node, t, field)
}

// leaf decodes a single value, to locate its fault.
func (d *document) leaf(node *yaml.Node, t reflect.Type, field string) {
	err := node.Decode(reflect.New(t).Interface())
	if err == nil && !cut(node, t) {
		return
	}
	d.torn = d.torn || (t.Kind() == reflect.Struct || t.Kind() == reflect.Map) && !readsItself(t) && !readsText(t)
	shown := node.Value
	if raw, was := d.raw[node]; was {
		shown = raw // The value may be a secret.
	}
	message := fmt.Sprintf("%q is not %s", shown, expected(t))
	if node.Kind != yaml.ScalarNode {
		message = "is not " + expected(t)
	}
	d.fault(node, field, events.CodeInvalid, message, "")
	var typed *yaml.TypeError
	if _, was := d.raw[node]; !was && err != nil && !errors.As(err, &typed) {
		d.faults[len(d.faults)-1].Cause = err.Error()
	}
}

// cut reports whether a number would lose its fraction or overflow as an integer: the decoder truncates it silently.
func cut(node *yaml.Node, t reflect.Type) bool {
	if t.Kind() < reflect.Int || t.Kind() > reflect.Uintptr || node.ShortTag() != "!!float" {
		return false
	}
	var whole float64
	err := node.Decode(&whole)
	return err == nil && (whole != math.Trunc(whole) || math.Abs(whole) >= 1<<63)
}

func (d *document) structure(node *yaml.Node, t reflect.Type, field string) {
	known := map[string]reflect.Type{}
	rest := fieldsOf(t, known)
	d.pairs(node, field, func(key, value *yaml.Node, path string) {
		switch kind, found := known[key.Value]; {
		case key.ShortTag() == "!!merge":
			d.merge(value, t, field)
		case found:
			d.walk(value, kind, path)
		case rest != nil:
			d.walk(value, rest, path)
		case field == "" && d.reserved[key.Value]:
		default:
			d.fault(key, path, events.CodeUnknownField, "unknown key", hintKeys(key.Value, known, field == "", d.reserved))
		}
	})
}

func (d *document) merge(value *yaml.Node, t reflect.Type, field string) {
	if value.Kind == yaml.SequenceNode {
		for _, item := range value.Content {
			d.walk(item, t, field)
		}
		return
	}
	d.walk(value, t, field)
}

func (d *document) mapping(node *yaml.Node, elem reflect.Type, field string) {
	d.pairs(node, field, func(key, value *yaml.Node, path string) {
		if key.ShortTag() == "!!merge" {
			d.merge(value, reflect.MapOf(reflect.TypeFor[string](), elem), field)
			return
		}
		d.walk(value, elem, path)
	})
}

func (d *document) sequence(node *yaml.Node, elem reflect.Type, field string) {
	for i, item := range node.Content {
		d.walk(item, elem, fmt.Sprintf("%s[%d]", field, i))
	}
}

// any accepts a value of any shape, but still expands it and rejects repeated keys.
func (d *document) any(node *yaml.Node, t reflect.Type, field string) {
	if node.Kind == yaml.SequenceNode {
		d.sequence(node, t, field)
		return
	}
	d.mapping(node, t, field)
}

// pairs visits the keys of a mapping, each once.
func (d *document) pairs(node *yaml.Node, field string, visit func(key, value *yaml.Node, path string)) {
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		path := key.Value
		if field != "" {
			path = field + "." + key.Value
		}
		if line, twice := lines[key.Value]; twice {
			d.fault(key, path, CodeDuplicateKey, fmt.Sprintf("the key is already on line %d", line), "keep one of the two")
			continue
		}
		lines[key.Value] = key.Line
		visit(key, value, path)
	}
}

// expandAll expands every text below a node that decodes itself. Faults name field; path is where the text is.
func (d *document) expandAll(node *yaml.Node, field, path string) {
	if node.Kind == yaml.ScalarNode {
		d.expand(node, field, path)
	}
	for i, below := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 {
			d.expandAll(below, field, path+"."+node.Content[i-1].Value)
			continue
		}
		d.expandAll(below, field, path)
	}
}

func readsItself(t reflect.Type) bool {
	return t == reflect.TypeFor[yaml.Node]() || reflect.PointerTo(t).Implements(reflect.TypeFor[yaml.Unmarshaler]())
}

func readsText(t reflect.Type) bool {
	return t == reflect.TypeFor[time.Time]() || reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
