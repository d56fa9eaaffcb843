package template

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
)

// deepest limits how deep templates may call each other, so that a template that calls itself is an error.
const deepest = 1000

// execution writes a template and those that it calls.
type execution struct {
	of        *Template
	out       *strings.Builder
	tree      *parse.Tree // The template being written, for positions in errors.
	variables []variable  // The variables in scope, the innermost last.
	depth     int
}

type variable struct {
	name  string
	value reflect.Value
}

// jump says that a range ends (break) or continues with its next element (continue).
type jump int

const (
	onward jump = iota
	breaks
	continues
)

// call writes the template with a name, which has its own variables.
func (e *execution) call(name string, dot reflect.Value, at parse.Node) {
	tree := e.of.trees[name]
	switch {
	case tree == nil && at == nil:
		panic(failure{fmt.Errorf("template: there is no template %q", name)})
	case tree == nil:
		e.fail(at, "there is no template %q", name)
	case e.depth == deepest:
		e.fail(at, "templates use one another more than %d deep", deepest)
	}
	inner := &execution{of: e.of, out: e.out, tree: tree, variables: []variable{{"$", dot}}, depth: e.depth + 1}
	inner.list(dot, tree.Root)
}

func (e *execution) list(dot reflect.Value, l *parse.ListNode) jump {
	if l == nil {
		return onward
	}
	for _, node := range l.Nodes {
		if j := e.node(dot, node); j != onward {
			return j
		}
	}
	return onward
}

func (e *execution) node(dot reflect.Value, node parse.Node) jump {
	switch n := node.(type) {
	case *parse.TextNode:
		e.out.Write(n.Text)
	case *parse.ActionNode:
		if v := e.pipe(dot, n.Pipe); len(n.Pipe.Decl) == 0 {
			e.print(n, v)
		}
	case *parse.TemplateNode:
		e.call(n.Name, e.pipe(dot, n.Pipe), n)
	case *parse.IfNode:
		return e.block(func() jump {
			if e.truth(n, e.pipe(dot, n.Pipe)) {
				return e.list(dot, n.List)
			}
			return e.list(dot, n.ElseList)
		})
	case *parse.WithNode:
		return e.block(func() jump {
			if v := e.pipe(dot, n.Pipe); e.truth(n, v) {
				return e.list(v, n.List)
			}
			return e.list(dot, n.ElseList)
		})
	case *parse.RangeNode:
		return e.block(func() jump { return e.each(dot, n) })
	case *parse.BreakNode:
		return breaks
	case *parse.ContinueNode:
		return continues
	case *parse.CommentNode:
	default:
		e.fail(node, "%s is not supported", node)
	}
	return onward
}

// block calls do and then removes the variables that it has declared.
func (e *execution) block(do func() jump) jump {
	outer := len(e.variables)
	j := do()
	e.variables = e.variables[:outer]
	return j
}

func (e *execution) truth(at parse.Node, v reflect.Value) bool {
	if !v.IsValid() {
		return false
	}
	truth, ok := template.IsTrue(v.Interface())
	if !ok {
		e.fail(at, "a value of type %s is neither true nor false", v.Type())
	}
	return truth
}

// each writes the body of a range for every element, or its else branch. Before and after, the variables of the range hold the
// whole value, as set by pipe.
func (e *execution) each(dot reflect.Value, n *parse.RangeNode) jump {
	over, _ := indirect(e.pipe(dot, n.Pipe))
	names, some := n.Pipe.Decl, false
	inner := len(e.variables)
	put := func(which int, v reflect.Value) {
		if n.Pipe.IsAssign {
			e.set(n.Pipe, names[which].Ident[0], v)
		} else {
			e.variables[inner-len(names)+which].value = v
		}
	}
	e.elements(n, over, func(key, element reflect.Value) bool {
		some = true
		if len(names) > 0 {
			put(len(names)-1, element)
		}
		if len(names) > 1 {
			put(0, key)
		}
		j := e.list(element, n.List)
		e.variables = e.variables[:inner]
		return j != breaks
	})
	if !some {
		return e.list(dot, n.ElseList)
	}
	return onward
}

// elements passes the elements of a value to a function until that returns false. Elements of a map come in the order of their
// keys.
func (e *execution) elements(at *parse.RangeNode, over reflect.Value, do func(key, element reflect.Value) bool) {
	switch {
	case !over.IsValid():
	case over.Kind() == reflect.Slice, over.Kind() == reflect.Array:
		for i := range over.Len() {
			if !do(reflect.ValueOf(i), over.Index(i)) {
				return
			}
		}
	case over.Kind() == reflect.Map:
		keys := over.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int {
			if less, err := order(a, b); err == nil {
				return less
			}
			return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
		})
		for _, key := range keys {
			if !do(key, over.MapIndex(key)) {
				return
			}
		}
	case over.CanInt():
		if len(at.Pipe.Decl) > 1 {
			e.fail(at, "a number has one variable in a range")
		}
		for i := range over.Int() {
			if v := reflect.ValueOf(i).Convert(over.Type()); !do(v, v) {
				return
			}
		}
	default:
		e.fail(at, "range cannot iterate over a value of type %s", over.Type())
	}
}

// set declares a variable, or changes one.
func (e *execution) set(p *parse.PipeNode, name string, v reflect.Value) {
	if !p.IsAssign {
		e.variables = append(e.variables, variable{name, v})
		return
	}
	for i, known := range slices.Backward(e.variables) {
		if known.name == name {
			e.variables[i].value = v
			return
		}
	}
	e.fail(p, "there is no variable %s", name)
}

func (e *execution) print(at parse.Node, v reflect.Value) {
	printable, ok := printed(v)
	if !ok {
		e.fail(at, "a value of type %s cannot be printed", v.Type())
	}
	fmt.Fprint(e.out, printable)
}
