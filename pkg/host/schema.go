package host

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// fieldsOf collects the keys of a struct, as the YAML package names them. rest is the type of the values of an inline map,
// which accepts every key; nil if there is none.
func fieldsOf(t reflect.Type, known map[string]reflect.Type) (rest reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		inline := slices.Contains(strings.Split(options, ","), "inline")
		if name == "-" || !field.IsExported() && !inline {
			continue
		}
		kind := field.Type
		for inline && kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		switch {
		case inline && kind.Kind() == reflect.Map:
			rest = kind.Elem()
		case inline:
			if more := fieldsOf(kind, known); more != nil {
				rest = more
			}
		case name == "":
			known[strings.ToLower(field.Name)] = kind
		default:
			known[name] = kind
		}
	}
	return rest
}

func hintKeys(name string, known map[string]reflect.Type, root bool, reserved map[string]bool) string {
	keys := slices.Collect(maps.Keys(known))
	if root {
		for key := range reserved {
			if _, found := known[key]; !found {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	if near := Meant(name, keys); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known keys: " + strings.Join(keys, ", ")
}

// expected names a type in words.
func expected(t reflect.Type) string {
	if t == reflect.TypeFor[time.Duration]() {
		return "a duration such as 1m30s"
	}
	if t == reflect.TypeFor[time.Time]() {
		return "a time such as 2006-01-02T15:04:05Z"
	}
	if readsItself(t) || readsText(t) {
		return "a good " + strings.ToLower(t.Name())
	}
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, at least 0"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "keys and values"
}

func nodeKind(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}
