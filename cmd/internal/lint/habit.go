package lint

import (
	"go/ast"
	"slices"
	"strings"
)

// Sleeps finds waits for a time instead of for an event, in tests and elsewhere. In virtual time a timer
// channel does the same and shows what it waits for.
func Sleeps(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		found = append(found, t.banned(file, "time", "wait for the event itself, or for a timer together with the context", "Sleep")...)
	}
	return sorted(found)
}

// Skips finds tests that may pass without having run.
func Skips(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if !file.Test {
			continue
		}
		ast.Inspect(file.AST, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, selector.Sel.Name) {
				return true
			}
			// A custom fuzz or rapid generator may skip an input; only a test named by t, b, f or tb skips itself.
			if x, ok := selector.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, x.Name) {
				found = append(found, t.find(call.Pos(), "%s.%s: a test that cannot run fails and says what it misses", x.Name, selector.Sel.Name))
			}
			return true
		})
	}
	return sorted(found)
}

// handedOn is the one file that may pass the environment on: a program that becomes another program.
const handedOn = "services/expert-runner/internal/sandbox/enter_linux.go"

// Environment finds readers of the process environment outside pkg/host, programs and tests.
func Environment(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if file.Test || file.AST.Name.Name == "main" || under(file.Path, "pkg/host") || file.Path == handedOn {
			continue
		}
		found = append(found, t.banned(file, "os", "take it as a setting; only pkg/host and main read the environment",
			"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv")...)
	}
	return sorted(found)
}

// Globals finds init functions and package variables that change after start: state has one owner and is passed in.
// Variables that are assigned once (tables, errors, compiled patterns) are allowed.
func Globals(t *Tree) []Finding {
	byDir := map[string][]*GoFile{}
	for _, file := range t.Go {
		if !file.Test && !file.Generated {
			byDir[file.Dir()] = append(byDir[file.Dir()], file)
		}
	}
	var found []Finding
	for _, files := range byDir {
		variables := map[string]*ast.ValueSpec{}
		for _, file := range files {
			found = append(found, t.declared(file, variables)...)
		}
		for _, file := range files {
			found = append(found, t.assigned(file, variables)...)
		}
	}
	return sorted(found)
}

// declared collects the package variables of a file, and finds those whose type only makes sense if they change.
func (t *Tree) declared(file *GoFile, variables map[string]*ast.ValueSpec) []Finding {
	var found []Finding
	for _, decl := range file.AST.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			found = append(found, t.find(f.Pos(), "init function: do it in a constructor that the program calls"))
		}
		group, ok := isVariables(decl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			value, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			for _, name := range value.Names {
				variables[name.Name] = value
			}
			if selector, ok := value.Type.(*ast.SelectorExpr); ok && isLock(file, selector) {
				found = append(found, t.find(value.Pos(), "package variable %s guards or counts something: give it an owner", value.Names[0].Name))
			}
		}
	}
	return found
}

func isLock(file *GoFile, selector *ast.SelectorExpr) bool {
	x, ok := selector.X.(*ast.Ident)
	return ok && strings.HasPrefix(imports(file.AST)[x.Name], "sync")
}

// assigned finds assignments to package variables, to their elements and to their fields.
func (t *Tree) assigned(file *GoFile, variables map[string]*ast.ValueSpec) []Finding {
	var found []Finding
	check := func(target ast.Expr) {
		name := root(target)
		if name == nil || name.Name == "_" || variables[name.Name] == nil {
			return
		}
		// The parser resolves a name to its declaration in the same file, and leaves names of other files open.
		if name.Obj != nil && name.Obj.Decl != any(variables[name.Name]) {
			return
		}
		found = append(found, t.find(target.Pos(), "package variable %s changes: state has one owner who is passed in", name.Name))
	}
	ast.Inspect(file.AST, func(node ast.Node) bool {
		switch s := node.(type) {
		case *ast.AssignStmt:
			for _, left := range s.Lhs {
				check(left)
			}
		case *ast.IncDecStmt:
			check(s.X)
		}
		return true
	})
	return found
}

// root returns the variable at the start of x.f[i].g, or nil.
func root(target ast.Expr) *ast.Ident {
	for {
		switch x := target.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			target = x.X
		case *ast.IndexExpr:
			target = x.X
		case *ast.StarExpr:
			target = x.X
		case *ast.ParenExpr:
			target = x.X
		default:
			return nil
		}
	}
}
