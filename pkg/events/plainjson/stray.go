package plainjson

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Stray is a field of a JSON text that its Go type does not have.
type Stray struct {
	// Path leads to the field, with dots and indexes; Known are the fields that there are at its place, sorted.
	Path  string
	Known []string
}

// Strays finds all fields, at any depth, that the type of a value does not have. Types that read themselves are left alone, as is what is
// of another type than wanted.
func Strays(text []byte, into any) []Stray {
	return strays(text, reflect.TypeOf(into), "")
}

func strays(text []byte, t reflect.Type, path string) (found []Stray) {
	for t.Kind() == reflect.Pointer && !reads(t) {
		t = t.Elem()
	}
	switch {
	case reads(t) || reads(reflect.PointerTo(t)):
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		var items []json.RawMessage
		_ = json.Unmarshal(text, &items) // Any other type is told by the decoder.
		for i, item := range items {
			found = append(found, strays(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i))...)
		}
	case t.Kind() == reflect.Struct || t.Kind() == reflect.Map:
		var members map[string]json.RawMessage
		_ = json.Unmarshal(text, &members)
		var fields map[string]reflect.Type
		if t.Kind() == reflect.Struct {
			fields = fieldsOf(t)
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			switch field := fieldOf(fields, name); {
			case fields == nil:
				found = append(found, strays(members[name], t.Elem(), at)...)
			case field == nil:
				found = append(found, Stray{at, slices.Sorted(maps.Keys(fields))})
			default:
				found = append(found, strays(members[name], field, at)...)
			}
		}
	}
	return found
}

// reads reports whether values of a type read their JSON themselves.
func reads(t reflect.Type) bool { return t.Implements(reflect.TypeFor[json.Unmarshaler]()) }

// fieldsOf returns the types of the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if f.IsExported() && !f.Anonymous && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}

// fieldOf finds a field as encoding/json does, which takes names in any case; nil if there is none.
func fieldOf(fields map[string]reflect.Type, name string) reflect.Type {
	for known, t := range fields { // any order: names that differ in case alone are not declared.
		if strings.EqualFold(known, name) {
			return t
		}
	}
	return nil
}
