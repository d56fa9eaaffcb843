package lint

import (
	"go/ast"
	"go/token"
	"go/types"
)

// unordered decides whether the statements of a loop over a map have the same effect in any order. It recognises a few
// plain forms and rejects everything else.
type unordered struct {
	info *types.Info
	// key is the variable that holds the key of the map, nil if the loop has none.
	key types.Object
	// collected are the slices the loop appends to.
	collected []types.Object
	// written counts, for each variable, field or map that the loop changes, how often its updates mention it. Any further
	// mention would read the results of earlier iterations.
	written map[string]int
	// result is the one value that the loop may return early, as text.
	result *string
}

// body decides about a whole loop.
func (u *unordered) body(block *ast.BlockStmt) bool {
	u.written = map[string]int{}
	if !u.all(block.List) || u.result != nil && len(u.written) > 0 {
		return false
	}
	mentions := map[string]int{}
	ast.Inspect(block, func(node ast.Node) bool {
		switch x := node.(type) {
		case *ast.IndexExpr:
			if u.isKey(x.Index) {
				mentions[types.ExprString(x.X)]--
			}
			mentions[types.ExprString(x)]++
		case *ast.SelectorExpr:
			mentions[types.ExprString(x)]++
		case *ast.Ident:
			mentions[x.Name]++
		}
		return true
	})
	for name, updates := range u.written {
		if mentions[name] > updates {
			return false
		}
	}
	return true
}

func (u *unordered) all(list []ast.Stmt) bool {
	for _, statement := range list {
		if !u.free(statement) {
			return false
		}
	}
	return true
}

func (u *unordered) free(statement ast.Stmt) bool {
	switch s := statement.(type) {
	case nil, *ast.EmptyStmt:
		return true
	case *ast.BlockStmt:
		return u.all(s.List)
	case *ast.IncDecStmt:
		u.written[types.ExprString(s.X)]++
		return u.isInteger(s.X) && u.pure(s.X)
	case *ast.AssignStmt:
		return u.assign(s)
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok || u.builtin(call) != "delete" {
			return false
		}
		u.written[types.ExprString(call.Args[0])]++
		return u.pure(call.Args[0]) && u.pure(call.Args[1])
	case *ast.IfStmt:
		return u.free(s.Init) && u.pure(s.Cond) && u.free(s.Body) && u.free(s.Else)
	case *ast.RangeStmt:
		return u.pure(s.X) && u.free(s.Body)
	case *ast.BranchStmt:
		return s.Tok == token.CONTINUE
	case *ast.ReturnStmt:
		return u.returns(s)
	}
	return false
}

func (u *unordered) assign(s *ast.AssignStmt) bool {
	for _, value := range s.Rhs {
		if u.appends(s, value) {
			return true
		}
		if !u.pure(value) {
			return false
		}
	}
	switch s.Tok {
	case token.DEFINE:
		return true
	case token.ADD_ASSIGN, token.SUB_ASSIGN, token.OR_ASSIGN, token.AND_ASSIGN, token.XOR_ASSIGN:
		u.written[types.ExprString(s.Lhs[0])]++
		return u.isInteger(s.Lhs[0]) && u.pure(s.Lhs[0])
	case token.ASSIGN:
		for i, target := range s.Lhs {
			if !u.underKey(target) && !u.extreme(target, s.Rhs[min(i, len(s.Rhs)-1)]) {
				return false
			}
		}
		return true
	}
	return false
}

// appends recognises x = append(x, …) and remembers x.
func (u *unordered) appends(s *ast.AssignStmt, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok || u.builtin(call) != "append" || len(s.Lhs) != 1 {
		return false
	}
	for _, argument := range call.Args[1:] {
		if !u.pure(argument) {
			return false
		}
	}
	to, ok := s.Lhs[0].(*ast.Ident)
	from, same := call.Args[0].(*ast.Ident)
	if !ok || !same || u.info.ObjectOf(to) != u.info.ObjectOf(from) {
		return false
	}
	u.collected = append(u.collected, u.info.ObjectOf(to))
	u.written[to.Name] += 2
	return true
}

// underKey recognises m[k] = … for the key of the loop: each iteration writes its own entry.
func (u *unordered) underKey(target ast.Expr) bool {
	if name, ok := target.(*ast.Ident); ok && name.Name == "_" {
		return true
	}
	index, ok := target.(*ast.IndexExpr)
	if !ok {
		return false
	}
	u.written[types.ExprString(index.X)] += 0
	return u.isKey(index.Index)
}

func (u *unordered) isKey(x ast.Expr) bool {
	name, ok := x.(*ast.Ident)
	return ok && u.key != nil && u.info.ObjectOf(name) == u.key
}

// extreme recognises x = max(x, …) and x = min(x, …).
func (u *unordered) extreme(target, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok || u.builtin(call) != "max" && u.builtin(call) != "min" {
		return false
	}
	for _, argument := range call.Args {
		if types.ExprString(argument) == types.ExprString(target) {
			u.written[types.ExprString(target)] += 2
			return true
		}
	}
	return false
}

// returns accepts returning constants, the same everywhere in the loop.
func (u *unordered) returns(s *ast.ReturnStmt) bool {
	text := ""
	for _, result := range s.Results {
		value := u.info.Types[result]
		if value.Value == nil && !value.IsNil() {
			return false
		}
		text += types.ExprString(result) + ","
	}
	if u.result == nil {
		u.result = &text
	}
	return *u.result == text
}

// pure reports whether an expression calls nothing but conversions and builtins without effect.
func (u *unordered) pure(x ast.Expr) bool {
	pure := true
	ast.Inspect(x, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncLit:
			pure = false
		case *ast.UnaryExpr:
			pure = pure && n.Op != token.ARROW
		case *ast.CallExpr:
			switch u.builtin(n) {
			case "len", "cap", "min", "max":
			default:
				pure = pure && u.info.Types[n.Fun].IsType()
			}
		}
		return pure
	})
	return pure
}

// builtin returns the name of the called builtin, or "".
func (u *unordered) builtin(call *ast.CallExpr) string {
	name, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok {
		return ""
	}
	called, ok := u.info.Uses[name].(*types.Builtin)
	if !ok {
		return ""
	}
	return called.Name()
}

func (u *unordered) isInteger(x ast.Expr) bool {
	kind := u.info.TypeOf(x)
	if kind == nil {
		return false
	}
	basic, ok := kind.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsInteger != 0
}
