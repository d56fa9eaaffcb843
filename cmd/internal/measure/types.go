package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/jobgraph/jobgraph/cmd/internal/lint"
)

// program is the workspace, type-checked, without its tests.
type program struct{ packages []*packages.Package }

func load(root string) (*program, error) {
	config := &packages.Config{
		Dir:  root,
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
	}
	found, err := packages.Load(config, "work")
	if err != nil {
		return nil, fmt.Errorf("load packages: %w", err)
	}
	var faults []error
	for _, p := range found {
		for _, fault := range p.Errors {
			faults = append(faults, fault)
		}
	}
	return &program{found}, errors.Join(faults...)
}

// named visits all types of the workspace, by package and name.
func (p *program) named(visit func(name string, t *types.Named)) {
	for _, pkg := range p.packages {
		scope := pkg.Types.Scope()
		for _, name := range scope.Names() {
			declared, ok := scope.Lookup(name).(*types.TypeName)
			if !ok || declared.IsAlias() {
				continue
			}
			if t, ok := declared.Type().(*types.Named); ok && !types.IsInterface(t) {
				visit(strings.TrimPrefix(pkg.PkgPath, lint.Base)+"."+name, t)
			}
		}
	}
}

const (
	// wantedMethods limits every method set; above methodsNeedReason a type needs a reason.
	wantedMethods = 60
	reasonMethods = 40
	shownTypes    = 8
)

// methodSets counts the methods of each type, promoted ones included.
func (p *program) methodSets() []row {
	type sized struct {
		name string
		n    int
	}
	var sets []sized
	over := 0
	p.named(func(name string, t *types.Named) {
		n := types.NewMethodSet(types.NewPointer(t)).Len()
		sets = append(sets, sized{name, n})
		if n > reasonMethods {
			over++
		}
	})
	slices.SortFunc(sets, func(a, b sized) int { return cmp.Or(b.n-a.n, strings.Compare(a.name, b.name)) })
	rows := []row{{name: fmt.Sprintf("types with more than %d methods", reasonMethods), now: fmt.Sprint(over)}}
	for _, s := range sets[:min(shownTypes, len(sets))] {
		rows = append(rows, atMost("methods of "+s.name, s.n, wantedMethods))
	}
	return rows
}

const (
	stepPackage = "services/scheduler/internal/loop"
	stepType    = "Partition"
	wantedState = 90
)

// stepState counts the fields that one step of the scheduler may read and change: those of the parts of its root, and of the
// structs in them. What the parts share is counted where it belongs, so references from part to part do not count; neither do
// messages on their way through a channel, nor settings, ports and records, which are the exported types of the package.
func (p *program) stepState() []row {
	var root *types.Named
	p.named(func(name string, t *types.Named) {
		if name == stepPackage+"."+stepType {
			root = t
		}
	})
	if root == nil {
		return nil
	}
	s := state{of: root.Obj().Pkg(), parts: map[*types.Named]bool{}, seen: map[*types.Named]bool{}}
	whole := root.Underlying().(*types.Struct) //nolint:errcheck // The root is a struct.
	for i := range whole.NumFields() {
		if part, ok := pointed(whole.Field(i).Type()); ok {
			s.parts[part] = true
		}
	}
	n := 0
	for part := range s.parts { // any order: a sum.
		n += s.fields(part)
	}
	return []row{
		atMost("fields of state behind a step of the scheduler", n, wantedState),
		{name: "parts and structs that hold them", now: fmt.Sprint(len(s.seen))},
	}
}

// state counts fields of structs of a package, each struct once.
type state struct {
	of          *types.Package
	parts, seen map[*types.Named]bool
}

// pointed returns the named type that a pointer points to.
func pointed(t types.Type) (*types.Named, bool) {
	pointer, ok := t.(*types.Pointer)
	if !ok {
		return nil, false
	}
	named, ok := pointer.Elem().(*types.Named)
	return named, ok
}

// fields counts the fields of the structs that values of a type hold.
func (s *state) fields(t types.Type) int {
	switch t := t.(type) {
	case *types.Pointer:
		return s.fields(t.Elem())
	case *types.Slice:
		return s.fields(t.Elem())
	case *types.Array:
		return s.fields(t.Elem())
	case *types.Map:
		return s.fields(t.Key()) + s.fields(t.Elem())
	case *types.Named:
		inner, ok := t.Underlying().(*types.Struct)
		if !ok || t.Obj().Pkg() != s.of || t.Obj().Exported() || s.seen[t.Origin()] {
			return 0
		}
		s.seen[t.Origin()] = true
		return s.fields(inner)
	case *types.Struct:
		n := 0
		for i := range t.NumFields() {
			n += s.field(t.Field(i).Type())
		}
		return n
	}
	return 0
}

// field counts one field and the fields of the structs that it holds.
func (s *state) field(t types.Type) int {
	if part, ok := pointed(t); ok && s.parts[part] {
		return 0
	}
	if named, ok := t.(*types.Named); ok && named.Obj().Pkg() == s.of && named.Obj().Exported() {
		return 0
	}
	return 1 + s.fields(t)
}
