package template

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/template"
	"text/template/parse"
)

// function is a function of the template language. An argument may be a value without a type, the variable none.
type function struct {
	least, most int // The number of arguments; a most of 0 means any number.
	do          func(args []reflect.Value) (any, error)
}

// functions are those of text/template except call, plus join, which is strings.Join. The two that do not evaluate all of their
// arguments are in apply.
var functions = map[string]function{
	"and":      {least: 1},
	"or":       {least: 1},
	"not":      {1, 1, func(args []reflect.Value) (any, error) { return !truth(args[0]), nil }},
	"len":      {1, 1, length},
	"index":    {least: 1, do: index},
	"slice":    {least: 1, most: 4, do: slice},
	"eq":       {least: 2, do: equal},
	"ne":       {2, 2, func(args []reflect.Value) (any, error) { same, err := same(args[0], args[1]); return !same, err }},
	"lt":       {2, 2, compared(func(order int) bool { return order < 0 })},
	"le":       {2, 2, compared(func(order int) bool { return order <= 0 })},
	"gt":       {2, 2, compared(func(order int) bool { return order > 0 })},
	"ge":       {2, 2, compared(func(order int) bool { return order >= 0 })},
	"print":    {do: func(args []reflect.Value) (any, error) { return fmt.Sprint(plain(args)...), nil }},
	"println":  {do: func(args []reflect.Value) (any, error) { return fmt.Sprintln(plain(args)...), nil }},
	"printf":   {least: 1, do: formatted},
	"html":     {do: func(args []reflect.Value) (any, error) { return template.HTMLEscaper(plain(args)...), nil }},
	"js":       {do: func(args []reflect.Value) (any, error) { return template.JSEscaper(plain(args)...), nil }},
	"urlquery": {do: func(args []reflect.Value) (any, error) { return template.URLQueryEscaper(plain(args)...), nil }},
	"join":     {2, 2, join},
}

// known has the names of functions for the parser, which needs nothing else.
var known = func() map[string]any {
	names := map[string]any{}
	for name := range functions {
		names[name] = true
	}
	return names
}()

// apply calls a function. "and" and "or" stop at the argument that decides.
func (e *execution) apply(dot reflect.Value, at *parse.IdentifierNode, args []parse.Node, before reflect.Value, piped bool) reflect.Value {
	f, n := functions[at.Ident], len(args)
	if piped {
		n++
	}
	if n < f.least || f.most > 0 && n > f.most {
		e.fail(at, "wrong number of arguments for %s: %d", at.Ident, n)
	}
	values := make([]reflect.Value, 0, n)
	for _, arg := range args {
		v := e.value(dot, arg)
		if at.Ident == "and" && !e.truth(at, v) || at.Ident == "or" && e.truth(at, v) {
			return v
		}
		values = append(values, v)
	}
	if piped {
		values = append(values, before)
	}
	if f.do == nil {
		return values[n-1]
	}
	result, err := f.do(values)
	if err != nil {
		e.fail(at, "error calling %s: %v", at.Ident, err)
	}
	return valueOf(result)
}

func truth(v reflect.Value) bool {
	if !v.IsValid() {
		return false
	}
	is, _ := template.IsTrue(v.Interface())
	return is
}

// plain converts values for fmt.
func plain(args []reflect.Value) []any {
	all := make([]any, len(args))
	for i, v := range args {
		if v.IsValid() {
			all[i] = v.Interface()
		}
	}
	return all
}

func formatted(args []reflect.Value) (any, error) {
	format, null := indirect(args[0])
	if null || format.Kind() != reflect.String {
		return nil, errors.New("the format is no text")
	}
	return fmt.Sprintf(format.String(), plain(args[1:])...), nil
}

func join(args []reflect.Value) (any, error) {
	list, ok := reflect.TypeAssert[[]string](args[0])
	if !ok {
		return nil, errors.New("the first argument is no list of texts")
	}
	between, _ := indirect(args[1])
	if between.Kind() != reflect.String {
		return nil, errors.New("the second argument is no text")
	}
	return strings.Join(list, between.String()), nil
}

func length(args []reflect.Value) (any, error) {
	switch v, null := indirect(args[0]); {
	case null || !v.IsValid():
		return nil, errors.New("len of nil")
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Array, v.Kind() == reflect.Map, v.Kind() == reflect.String:
		return v.Len(), nil
	default:
		return nil, fmt.Errorf("len of type %s", v.Type())
	}
}

// index returns an element: index x 1 2 is x[1][2] in Go. For a missing key of a map it is the zero value.
func index(args []reflect.Value) (any, error) {
	at := args[0]
	for _, key := range args[1:] {
		v, null := indirect(at)
		switch {
		case null || !v.IsValid():
			return nil, errors.New("index of nil")
		case v.Kind() == reflect.Map:
			inner, _ := indirect(key)
			if !inner.IsValid() || !inner.Type().AssignableTo(v.Type().Key()) {
				return nil, fmt.Errorf("the key of a map is of type %s", v.Type().Key())
			}
			if at = v.MapIndex(inner); !at.IsValid() {
				at = reflect.Zero(v.Type().Elem())
			}
		case v.Kind() == reflect.Slice, v.Kind() == reflect.Array, v.Kind() == reflect.String:
			i, err := position(key, v.Len()-1)
			if err != nil {
				return nil, err
			}
			at = v.Index(i)
		default:
			return nil, fmt.Errorf("index of type %s", v.Type())
		}
	}
	if !at.IsValid() {
		return nil, errors.New("index of nil")
	}
	return at, nil
}

// slice returns a part: slice x 1 2 is x[1:2] in Go.
func slice(args []reflect.Value) (any, error) {
	v, null := indirect(args[0])
	if null || !v.IsValid() {
		return nil, errors.New("slice of nil")
	}
	if v.Kind() != reflect.Slice && v.Kind() != reflect.String && (v.Kind() != reflect.Array || !v.CanAddr()) {
		return nil, fmt.Errorf("slice of type %s", v.Type())
	}
	if v.Kind() == reflect.String && len(args) == 4 {
		return nil, errors.New("a text has no capacity")
	}
	limit := v.Len()
	if v.Kind() == reflect.Slice {
		limit = v.Cap()
	}
	at := []int{0, v.Len(), limit}
	for i, arg := range args[1:] {
		var err error
		if at[i], err = position(arg, limit); err != nil {
			return nil, err
		}
	}
	switch {
	case at[0] > at[1], at[1] > at[2]:
		return nil, fmt.Errorf("%v are no bounds", at)
	case len(args) == 4:
		return v.Slice3(at[0], at[1], at[2]), nil
	default:
		return v.Slice(at[0], at[1]), nil
	}
}

// position reads an integer from 0 to last.
func position(v reflect.Value, last int) (int, error) {
	v, _ = indirect(v)
	var i int64
	switch {
	case v.IsValid() && v.CanInt():
		i = v.Int()
	case v.IsValid() && v.CanUint():
		i = int64(min(v.Uint(), 1<<62)) //nolint:gosec // It is far beyond the last position.
	default:
		return 0, errors.New("an index is a whole number")
	}
	if i < 0 || i > int64(last) {
		return 0, fmt.Errorf("index out of range: %d", i)
	}
	return int(i), nil
}

// equal reports whether the first argument is equal to one of the others.
func equal(args []reflect.Value) (any, error) {
	for _, other := range args[1:] {
		if is, err := same(args[0], other); err != nil || is {
			return is, err
		}
	}
	return false, nil
}

// same compares two values: numbers by value, whatever their types, others of one kind by ==.
func same(a, b reflect.Value) (bool, error) {
	a, b = inside(a), inside(b)
	switch {
	case !a.IsValid() || !b.IsValid():
		return null(a) && null(b), nil
	case basic(a) && basic(b):
		result, err := order(a, b)
		if errors.Is(err, errUnordered) {
			return a.Equal(b), nil
		}
		return err == nil && result == 0, err
	case basic(a) || basic(b):
		return false, errKinds
	case !a.Comparable():
		return false, fmt.Errorf("values of type %s cannot be compared", a.Type())
	case !b.Comparable():
		return false, fmt.Errorf("values of type %s cannot be compared", b.Type())
	}
	return a.Type() == b.Type() && a.Equal(b), nil
}

// inside unwraps an interface.
func inside(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

func null(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Chan, reflect.Func, reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice, reflect.UnsafePointer:
		return v.IsNil()
	default:
		return false
	}
}

var (
	errKinds     = errors.New("values of these types cannot be compared with each other")
	errUnordered = errors.New("values of this type have no order")
)

func basic(v reflect.Value) bool {
	return v.CanInt() || v.CanUint() || v.CanFloat() || v.CanComplex() || v.Kind() == reflect.String || v.Kind() == reflect.Bool
}

// compared makes a function from an ordering.
func compared(is func(order int) bool) func(args []reflect.Value) (any, error) {
	return func(args []reflect.Value) (any, error) {
		result, err := order(inside(args[0]), inside(args[1]))
		return err == nil && is(result), err
	}
}

// order compares two numbers, or two texts. Errors: errKinds, errUnordered.
func order(a, b reflect.Value) (int, error) {
	switch {
	case !a.IsValid() || !b.IsValid():
		return 0, errKinds
	case a.CanInt() && b.CanInt():
		return cmp.Compare(a.Int(), b.Int()), nil
	case a.CanUint() && b.CanUint():
		return cmp.Compare(a.Uint(), b.Uint()), nil
	case a.CanInt() && b.CanUint():
		if a.Int() < 0 {
			return -1, nil
		}
		return cmp.Compare(uint64(a.Int()), b.Uint()), nil //nolint:gosec // It is not negative.
	case a.CanUint() && b.CanInt():
		reverse, err := order(b, a)
		return -reverse, err
	case a.CanFloat() && b.CanFloat():
		return cmp.Compare(a.Float(), b.Float()), nil
	case a.Kind() == reflect.String && b.Kind() == reflect.String:
		return cmp.Compare(a.String(), b.String()), nil
	case a.Kind() == b.Kind() && (a.Kind() == reflect.Bool || a.CanComplex()), a.CanComplex() && b.CanComplex():
		return 0, errUnordered
	default:
		return 0, errKinds
	}
}
