package plainjson

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Misfit says in words of JSON why a text does not fit: where in it there is what instead of what. Any other error is left as it is.
func Misfit(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	at := ""
	if wrong.Field != "" {
		at = wrong.Field + ": "
	}
	value, detail, _ := strings.Cut(wrong.Value, " ")
	if detail != "" {
		return fmt.Sprintf("%sthe number %s does not fit", at, detail)
	}
	return fmt.Sprintf("%s%s instead of %s", at, article(value), jsonType(wrong.Type))
}

// article puts a type of JSON, as encoding/json names it, into a sentence.
func article(value string) string {
	switch value {
	case "array", "object":
		return "an " + value
	case "bool":
		return "true or false"
	}
	return "a " + value
}

// jsonType names the JSON that a Go type is read from.
func jsonType(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return article("string")
	}
	switch t.Kind() {
	case reflect.String:
		return article("string")
	case reflect.Bool:
		return article("bool")
	case reflect.Struct, reflect.Map:
		return article("object")
	case reflect.Slice, reflect.Array:
		return article("array")
	case reflect.Pointer:
		return jsonType(t.Elem())
	default:
		return article("number")
	}
}
