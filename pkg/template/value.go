package template

import (
	"fmt"
	"reflect"
	"text/template/parse"
)

// Computed is data that can compute more than its fields, like the methods without arguments in text/template.
type Computed interface {
	// Compute returns the value for a name; found is false if there is none.
	Compute(name string) (value any, found bool)
}

// none represents nil: a value without a type.
var none reflect.Value

func valueOf(v any) reflect.Value {
	if r, is := v.(reflect.Value); is {
		return r
	}
	return reflect.ValueOf(v)
}

// pipe returns the value of a pipeline and stores it in the variables that the pipeline names.
func (e *execution) pipe(dot reflect.Value, p *parse.PipeNode) reflect.Value {
	if p == nil {
		return none
	}
	var v reflect.Value
	for i, c := range p.Cmds {
		v = e.command(dot, c, v, i > 0)
		if v.Kind() == reflect.Interface && v.NumMethod() == 0 {
			v = v.Elem()
		}
	}
	for _, d := range p.Decl {
		e.set(p, d.Ident[0], v)
	}
	return v
}

// command returns the value of one part of a pipeline. A function gets the value of the preceding part as its last argument.
func (e *execution) command(dot reflect.Value, c *parse.CommandNode, before reflect.Value, piped bool) reflect.Value {
	if f, is := c.Args[0].(*parse.IdentifierNode); is {
		return e.apply(dot, f, c.Args[1:], before, piped)
	}
	if piped || len(c.Args) > 1 {
		e.fail(c.Args[0], "%s is no function, and takes no arguments", c.Args[0])
	}
	if _, is := c.Args[0].(*parse.NilNode); is {
		e.fail(c.Args[0], "nil is not a command")
	}
	return e.value(dot, c.Args[0])
}

// value returns the value of an operand.
func (e *execution) value(dot reflect.Value, node parse.Node) reflect.Value {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot
	case *parse.NilNode:
		return none
	case *parse.BoolNode:
		return reflect.ValueOf(n.True)
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.NumberNode:
		return e.number(n)
	case *parse.FieldNode:
		return e.fields(n, dot, n.Ident)
	case *parse.ChainNode:
		return e.fields(n, e.value(dot, n.Node), n.Field)
	case *parse.VariableNode:
		for i := len(e.variables) - 1; i >= 0; i-- {
			if e.variables[i].name == n.Ident[0] {
				return e.fields(n, e.variables[i].value, n.Ident[1:])
			}
		}
		e.fail(n, "there is no variable %s", n.Ident[0])
	case *parse.PipeNode:
		return e.pipe(dot, n)
	case *parse.IdentifierNode:
		return e.apply(dot, n, nil, none, false)
	}
	e.fail(node, "%s is not supported here", node)
	return none
}

// number returns a constant with the type that Go would give it.
func (e *execution) number(n *parse.NumberNode) reflect.Value {
	switch {
	case n.IsComplex && !n.IsFloat && !n.IsInt && !n.IsUint:
		return reflect.ValueOf(n.Complex128)
	case n.IsFloat && !n.IsInt && !n.IsUint, n.IsFloat && pointed(n.Text):
		return reflect.ValueOf(n.Float64)
	case n.IsInt:
		if v := int(n.Int64); int64(v) == n.Int64 {
			return reflect.ValueOf(v)
		}
	}
	e.fail(n, "%s overflows int", n.Text)
	return none
}

// pointed reports whether a number is written with a fraction or an exponent.
func pointed(text string) bool {
	if len(text) > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') {
		return hasAny(text, ".pP")
	}
	return text[0] != '\'' && hasAny(text, ".eEpP")
}

func hasAny(text, chars string) bool {
	for _, c := range text {
		for _, wanted := range chars {
			if c == wanted {
				return true
			}
		}
	}
	return false
}

// fields follows a chain of names, starting at a value.
func (e *execution) fields(at parse.Node, v reflect.Value, names []string) reflect.Value {
	for _, name := range names {
		v = e.field(at, v, name)
	}
	return v
}

// field returns the field of a struct, or the entry of a map.
func (e *execution) field(at parse.Node, of reflect.Value, name string) reflect.Value {
	if !of.IsValid() {
		e.fail(at, "there is no %s in a value that is not there", name)
	}
	v, null := indirect(of)
	if null {
		e.fail(at, "there is no %s in a nil of type %s", name, of.Type())
	}
	if c, is := reflect.TypeAssert[Computed](v); is {
		if value, found := c.Compute(name); found {
			return valueOf(value)
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		if f, found := v.Type().FieldByName(name); found && f.IsExported() {
			inner, err := v.FieldByIndexErr(f.Index)
			if err != nil {
				e.fail(at, "%v", err)
			}
			return inner
		}
	case reflect.Map:
		if key := reflect.ValueOf(name); key.Type().AssignableTo(v.Type().Key()) {
			if entry := v.MapIndex(key); entry.IsValid() {
				return entry
			}
			e.fail(at, "the map has no entry for key %q", name)
		}
	}
	e.fail(at, "a value of type %s has no field %s", of.Type(), name)
	return none
}

// indirect follows pointers and interfaces. If one of them is nil, it returns that one and reports so.
func indirect(v reflect.Value) (reflect.Value, bool) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return v, true
		}
		v = v.Elem()
	}
	return v, false
}

var (
	stringer = reflect.TypeFor[fmt.Stringer]()
	fault    = reflect.TypeFor[error]()
)

// printed returns what fmt prints for a value, as in text/template: pointers are followed, and nothing prints as "<no value>".
func printed(v reflect.Value) (any, bool) {
	if v.Kind() == reflect.Pointer {
		v, _ = indirect(v)
	}
	if !v.IsValid() {
		return "<no value>", true
	}
	if t := v.Type(); !t.Implements(fault) && !t.Implements(stringer) {
		if v.CanAddr() && (reflect.PointerTo(t).Implements(fault) || reflect.PointerTo(t).Implements(stringer)) {
			v = v.Addr()
		} else if v.Kind() == reflect.Chan || v.Kind() == reflect.Func {
			return nil, false
		}
	}
	return v.Interface(), true
}
