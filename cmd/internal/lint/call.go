package lint

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// imports maps the name a file uses for a package to its import path. A dot or blank import has no name.
func imports(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(target)
		if isVersion(name) {
			name = path.Base(path.Dir(target))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = target
	}
	return names
}

// isVersion reports whether an import path element is a major version such as v2.
func isVersion(element string) bool {
	number, ok := strings.CutPrefix(element, "v")
	if !ok {
		return false
	}
	_, err := strconv.Atoi(number)
	return err == nil
}

// uses calls visit for each use of a name of package target in the file, with that name.
func uses(file *ast.File, target string, visit func(at *ast.SelectorExpr, name string)) {
	names := imports(file)
	ast.Inspect(file, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && x.Obj == nil && names[x.Name] == target {
			visit(selector, selector.Sel.Name)
		}
		return true
	})
}

// banned finds each use of one of the named functions of a package.
func (t *Tree) banned(file *GoFile, target string, why string, names ...string) []Finding {
	var found []Finding
	uses(file.AST, target, func(at *ast.SelectorExpr, name string) {
		if slices.Contains(names, name) {
			found = append(found, t.find(at.Pos(), "%s.%s: %s", path.Base(target), name, why))
		}
	})
	return found
}
