package lint

import "go/ast"

// maxMethodSet is how many methods a type may have; with more, it has several responsibilities.
const maxMethodSet = 60

// largeTypes are exceptions, each with its reason.
var largeTypes = map[string]string{}

// Methods finds types with too many methods of their own.
func Methods(t *Tree) []Finding {
	counts := map[string]int{}
	declared := map[string]*ast.TypeSpec{}
	for _, file := range t.Go {
		if file.Test || file.Generated {
			continue
		}
		for _, decl := range file.AST.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					counts[file.Dir()+"."+receiver(d.Recv.List[0].Type)]++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						declared[file.Dir()+"."+s.Name.Name] = s
					}
				}
			}
		}
	}
	var found []Finding
	for name, n := range counts { // any order: sorted below.
		if n > maxMethodSet && largeTypes[name] == "" && declared[name] != nil {
			found = append(found, t.find(declared[name].Pos(), "type %s has %d methods, at most %d: divide it by what its methods change, or list it in largeTypes with a reason", declared[name].Name.Name, n, maxMethodSet))
		}
	}
	return sorted(found)
}

// receiver returns the name of the type that a method belongs to.
func receiver(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
