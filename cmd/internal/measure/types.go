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
	// wantedMethods limits every method set; above the second limit a type needs a reason.
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

// stepState counts the fields behind one step of the scheduler: those of each struct of its package that is reachable from
// its root.
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
	seen := map[*types.Named]bool{}
	n := fields(root, root.Obj().Pkg(), seen)
	return []row{
		atMost("fields behind a step of the scheduler", n, wantedState),
		{name: "types that hold them", now: fmt.Sprint(len(seen))},
	}
}

// fields counts the fields of the structs of one package that t reaches.
func fields(t types.Type, of *types.Package, seen map[*types.Named]bool) int {
	switch t := t.(type) {
	case *types.Pointer:
		return fields(t.Elem(), of, seen)
	case *types.Slice:
		return fields(t.Elem(), of, seen)
	case *types.Map:
		return fields(t.Key(), of, seen) + fields(t.Elem(), of, seen)
	case *types.Chan:
		return fields(t.Elem(), of, seen)
	case *types.Array:
		return fields(t.Elem(), of, seen)
	case *types.Named:
		inner, ok := t.Underlying().(*types.Struct)
		if !ok || t.Obj().Pkg() != of || seen[t.Origin()] {
			return 0
		}
		seen[t.Origin()] = true
		return fields(inner, of, seen)
	case *types.Struct:
		n := t.NumFields()
		for i := range t.NumFields() {
			n += fields(t.Field(i).Type(), of, seen)
		}
		return n
	}
	return 0
}
