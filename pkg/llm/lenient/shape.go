package lenient

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// kinds is a set of JSON types.
type kinds byte

const (
	kindObject kinds = 1 << iota
	kindArray
	kindString
	kindNumber
	kindBoolean
	kindNull

	anyKind = kindObject | kindArray | kindString | kindNumber | kindBoolean | kindNull
)

// Shape is what a caller expects: the known keys and types of a value. It helps to choose between repairs and does not
// validate. It is safe for concurrent use; a nil Shape expects nothing.
type Shape struct {
	kinds kinds
	// properties are the known members, required those that must exist. If closed is true, no others are allowed; otherwise extra
	// describes them.
	properties map[string]*Shape
	required   []string
	closed     bool
	extra      *Shape
	// items describes the elements of an array.
	items *Shape
	// words are the only allowed strings; nil allows all.
	words []string
}

// maxShapes limits the parts of a schema that are read.
const maxShapes = 4096

// ShapeOf derives a shape from a JSON Schema; alternatives are merged. It returns nil if the text is not a schema.
func ShapeOf(schema json.RawMessage) *Shape {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return nil
	}
	if _, ok := root.(map[string]any); !ok {
		return nil
	}
	r := shapeReader{root: root, refs: map[string]*Shape{}}
	return r.read(root)
}

// shapeReader reads the parts of a schema. A reference to a part that is still being read resolves to that part.
type shapeReader struct {
	root any
	refs map[string]*Shape
	n    int
}

func (r *shapeReader) read(part any) *Shape {
	fields, ok := part.(map[string]any)
	if r.n++; !ok || r.n > maxShapes {
		return &Shape{kinds: anyKind}
	}
	if ref, ok := fields["$ref"].(string); ok {
		return r.refer(ref)
	}
	s := &Shape{}
	r.fill(s, fields)
	return s
}

// refer returns the part of the schema that a reference points to.
func (r *shapeReader) refer(ref string) *Shape {
	if s := r.refs[ref]; s != nil {
		return s
	}
	s := &Shape{kinds: anyKind}
	r.refs[ref] = s
	path, local := strings.CutPrefix(ref, "#")
	at := r.root
	for _, name := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if name == "" {
			continue
		}
		fields, _ := at.(map[string]any)
		at = fields[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	if fields, ok := at.(map[string]any); ok && local && fields["$ref"] == nil {
		r.fill(s, fields)
	}
	return s
}

// fill reads the keywords of one schema.
func (r *shapeReader) fill(s *Shape, fields map[string]any) {
	s.kinds = kindsOf(fields)
	if properties, ok := fields["properties"].(map[string]any); ok {
		s.properties = make(map[string]*Shape, len(properties))
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			s.properties[name] = r.read(properties[name])
		}
	}
	s.required = texts(fields["required"])
	switch extra := fields["additionalProperties"].(type) {
	case bool:
		s.closed = !extra
	case map[string]any:
		s.extra = r.read(extra)
	}
	if items, ok := fields["items"]; ok {
		s.items = r.read(items)
	}
	s.words = texts(fields["enum"])
	if word, ok := fields["const"].(string); ok {
		s.words = []string{word}
	}
	for _, name := range [...]string{"anyOf", "oneOf"} {
		if list, ok := fields[name].([]any); ok && len(list) > 0 {
			s.either(r, list)
		}
	}
	if list, ok := fields["allOf"].([]any); ok {
		for _, part := range list {
			s.add(r.read(part))
		}
	}
}

// kindsOf reads the types that a schema allows.
func kindsOf(fields map[string]any) kinds {
	names := texts(fields["type"])
	if name, ok := fields["type"].(string); ok {
		names = []string{name}
	}
	var found kinds
	for _, name := range names {
		switch name {
		case "object":
			found |= kindObject
		case "array":
			found |= kindArray
		case "string":
			found |= kindString
		case "number", "integer":
			found |= kindNumber
		case "boolean":
			found |= kindBoolean
		case "null":
			found |= kindNull
		}
	}
	if found == 0 {
		return anyKind
	}
	return found
}

// either merges alternatives: what any of them allows is allowed, what all of them require is required.
func (s *Shape) either(r *shapeReader, list []any) {
	merged, worded := &Shape{}, true
	for i, part := range list {
		one := r.read(part)
		merged.kinds |= one.kinds
		merged.take(one)
		if one.kinds&kindString != 0 {
			worded = worded && len(one.words) > 0
			merged.words = append(merged.words, one.words...)
		}
		merged.closed = one.closed && (i == 0 || merged.closed) || one.kinds&kindObject == 0 && merged.closed
	}
	if !worded {
		merged.words = nil
	}
	if len(list) == 1 {
		merged.required = r.read(list[0]).required
	} else {
		merged.required = shared(r, list)
	}
	s.add(merged)
}

// shared lists the members that every object among the alternatives requires.
func shared(r *shapeReader, list []any) []string {
	var found []string
	first := true
	for _, part := range list {
		one := r.read(part)
		if one.kinds&kindObject == 0 {
			continue
		}
		if first {
			found, first = slices.Clone(one.required), false
			continue
		}
		found = slices.DeleteFunc(found, func(name string) bool { return !slices.Contains(one.required, name) })
	}
	return found
}

// add narrows a shape by another one that applies as well.
func (s *Shape) add(other *Shape) {
	s.kinds &= other.kinds
	if s.kinds == 0 {
		s.kinds = anyKind
	}
	s.take(other)
	s.required = append(s.required, other.required...)
	s.closed = s.closed || other.closed
	if s.words == nil {
		s.words = other.words
	}
}

// take adds the known parts of another shape.
func (s *Shape) take(other *Shape) {
	for name, part := range other.properties { // any order: names are unique
		if s.properties == nil {
			s.properties = map[string]*Shape{}
		}
		if s.properties[name] == nil {
			s.properties[name] = part
		}
	}
	if s.items == nil {
		s.items = other.items
	}
	if s.extra == nil {
		s.extra = other.extra
	}
}

// member returns the shape of a member and whether its key is known or allowed.
func (s *Shape) member(key string) (*Shape, bool) {
	if s == nil {
		return nil, true
	}
	if part := s.properties[key]; part != nil {
		return part, true
	}
	return s.extra, s.extra != nil || len(s.properties) == 0 && !s.closed
}

// element returns the shape of an array's elements.
func (s *Shape) element() *Shape {
	if s == nil {
		return nil
	}
	return s.items
}

// allows reports whether a shape accepts a type.
func (s *Shape) allows(kind kinds) bool { return s == nil || s.kinds&kind != 0 }

// texts returns the strings in a list.
func texts(list any) []string {
	values, _ := list.([]any)
	var found []string
	for _, one := range values {
		if text, ok := one.(string); ok {
			found = append(found, text)
		}
	}
	return found
}
