package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// anyOrder marks a loop over a map whose effect does not depend on the order, with the reason behind it.
const anyOrder = "any order:"

// MapOrder finds loops over maps in a type-checked package whose effect may depend on the order of the map. A loop is
// independent of the order if it only counts, fills or empties maps under its own key, or returns one constant; or if
// everything it collects is sorted right after it. Any other loop needs a comment on its line or on the line above that
// says `any order:` and why. Iterators of package maps must be sorted where they are created.
func MapOrder(fset *token.FileSet, files []*ast.File, info *types.Info) []Finding {
	var found []Finding
	for _, file := range files {
		m := mapOrder{tree: &Tree{Fset: fset}, info: info, excused: excusedLines(fset, file)}
		m.lists(file)
		m.iterators(file)
		found = append(found, m.found...)
	}
	return sorted(found)
}

type mapOrder struct {
	tree    *Tree
	info    *types.Info
	excused map[int]bool
	found   []Finding
}

func excusedLines(fset *token.FileSet, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			_, reason, ok := strings.Cut(comment.Text, anyOrder)
			if ok && strings.TrimSpace(reason) != "" {
				lines[fset.Position(comment.Pos()).Line] = true
				lines[fset.Position(group.End()).Line+1] = true
			}
		}
	}
	return lines
}

// lists visits every list of statements, because what follows a loop matters.
func (m *mapOrder) lists(file *ast.File) {
	ast.Inspect(file, func(node ast.Node) bool {
		var list []ast.Stmt
		switch block := node.(type) {
		case *ast.BlockStmt:
			list = block.List
		case *ast.CaseClause:
			list = block.Body
		case *ast.CommClause:
			list = block.Body
		}
		for i, statement := range list {
			if label, ok := statement.(*ast.LabeledStmt); ok {
				statement = label.Stmt
			}
			if loop, ok := statement.(*ast.RangeStmt); ok && m.overMap(loop) {
				m.loop(loop, list[i+1:])
			}
		}
		return true
	})
}

func (m *mapOrder) overMap(loop *ast.RangeStmt) bool {
	kind := m.info.TypeOf(loop.X)
	if kind == nil {
		return false
	}
	_, ok := kind.Underlying().(*types.Map)
	return ok
}

func (m *mapOrder) loop(loop *ast.RangeStmt, rest []ast.Stmt) {
	body := &unordered{info: m.info, key: m.object(loop.Key)}
	free := body.body(loop.Body)
	for _, collected := range body.collected {
		free = free && m.sortedIn(collected, rest)
	}
	if !free && !m.excused[m.tree.Fset.Position(loop.Pos()).Line] {
		m.found = append(m.found, m.tree.find(loop.Pos(), "loop over a map: sort what it collects right behind it, or say // %s <reason>", anyOrder))
	}
}

func (m *mapOrder) object(x ast.Expr) types.Object {
	if name, ok := x.(*ast.Ident); ok {
		return m.info.ObjectOf(name)
	}
	return nil
}

// sortedIn reports whether one of the statements sorts the variable before anything else can use it.
func (m *mapOrder) sortedIn(collected types.Object, rest []ast.Stmt) bool {
	for _, statement := range rest {
		call, ok := callOf(statement)
		if ok && len(call.Args) > 0 && m.sorts(call) && m.object(call.Args[0]) == collected {
			return true
		}
		if m.mentions(statement, collected) {
			return false
		}
	}
	return false
}

func callOf(statement ast.Stmt) (*ast.CallExpr, bool) {
	x, ok := statement.(*ast.ExprStmt)
	if !ok {
		return nil, false
	}
	call, ok := x.X.(*ast.CallExpr)
	return call, ok
}

func (m *mapOrder) sorts(call *ast.CallExpr) bool {
	from, name := m.callee(call)
	return from == "sort" || from == "slices" && strings.HasPrefix(name, "Sort")
}

// callee returns the package and the name of a called function of a package, or "".
func (m *mapOrder) callee(call *ast.CallExpr) (string, string) {
	selector, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	called := m.info.Uses[selector.Sel]
	if called == nil || called.Pkg() == nil {
		return "", ""
	}
	return called.Pkg().Path(), called.Name()
}

func (m *mapOrder) mentions(node ast.Node, object types.Object) bool {
	seen := false
	ast.Inspect(node, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok && m.info.ObjectOf(name) == object {
			seen = true
		}
		return !seen
	})
	return seen
}

// iterators finds maps.Keys, maps.Values and maps.All that are not sorted on the spot.
func (m *mapOrder) iterators(file *ast.File) {
	ordered := map[ast.Expr]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		from, name := m.callee(call)
		if from == "slices" && strings.HasPrefix(name, "Sorted") && len(call.Args) > 0 {
			ordered[call.Args[0]] = true
		}
		if from == "maps" && (name == "Keys" || name == "Values" || name == "All") && !ordered[call] &&
			!m.excused[m.tree.Fset.Position(call.Pos()).Line] {
			m.found = append(m.found, m.tree.find(call.Pos(), "maps.%s: wrap it in slices.Sorted, or say // %s <reason>", name, anyOrder))
		}
		return true
	})
}
