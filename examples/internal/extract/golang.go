package extract

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"

	"github.com/jobgraph/jobgraph/examples/internal/graph"
)

// golang reads Go files: first what each declares, then, when all names are known, what each uses.
type golang struct {
	r       *reader
	set     *token.FileSet
	files   []goFile
	modules map[string]string   // folder → module path, "" if there is no go.mod
	methods map[string][]string // ids by method name
}

type goFile struct {
	path    string
	dir     string
	syntax  *ast.File
	imports map[string]string // local name → package or library id
}

func newGolang(r *reader) *golang {
	return &golang{r: r, set: token.NewFileSet(), modules: map[string]string{}, methods: map[string][]string{}}
}

// add parses one file. What can be read of a broken file counts.
func (g *golang) add(name string, raw []byte) {
	syntax, err := parser.ParseFile(g.set, name, raw, parser.SkipObjectResolution)
	if err != nil {
		g.r.fault(name, err)
	}
	if syntax == nil || syntax.Name == nil {
		return
	}
	f := goFile{path: name, dir: path.Dir(name), syntax: syntax}
	g.files = append(g.files, f)
	g.r.build.Add(graph.Entity{ID: packageID(f.dir), Kind: "package", Name: packageName(f), File: f.dir})
	for _, decl := range syntax.Decls {
		g.declare(f, decl)
	}
}

// packageName calls a command by its folder, since all of them are called main.
func packageName(f goFile) string {
	if name := f.syntax.Name.Name; name != "main" || f.dir == "." {
		return name
	}
	return path.Base(f.dir)
}

func packageID(dir string) string        { return "package:" + dir }
func memberID(dir, member string) string { return dir + "." + member }

func (g *golang) declare(f goFile, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if receiver := receiverType(d); receiver != "" {
			name = receiver + "." + name
			g.methods[d.Name.Name] = append(g.methods[d.Name.Name], "func:"+memberID(f.dir, name))
		}
		g.member(f, "func", name, d.Pos())
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok {
				g.member(f, "type", t.Name.Name, t.Pos())
			}
		}
	}
}

func (g *golang) member(f goFile, kind, name string, pos token.Pos) {
	if name == "_" || name == "init" || name == "main" {
		return
	}
	id := kind + ":" + memberID(f.dir, name)
	if g.r.build.Has(id) {
		return
	}
	g.r.build.Add(graph.Entity{ID: id, Kind: kind, Name: name, File: f.path, Line: g.set.Position(pos).Line})
	g.r.build.Relate(packageID(f.dir), id, "declares", 1)
}

func (g *golang) finish() {
	for _, f := range g.files {
		g.findModule(f.dir)
	}
	for i := range g.files {
		g.imports(&g.files[i])
	}
	for _, f := range g.files {
		for _, decl := range f.syntax.Decls {
			g.uses(f, decl)
		}
	}
}

// uses relates a declaration to the types it names and the functions it calls.
func (g *golang) uses(f goFile, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		from := "func:" + memberID(f.dir, d.Name.Name)
		if receiver := receiverType(d); receiver != "" {
			from = "func:" + memberID(f.dir, receiver+"."+d.Name.Name)
			g.r.build.Relate("type:"+memberID(f.dir, receiver), from, "declares", 1)
		}
		if !g.r.build.Has(from) {
			from = packageID(f.dir)
		}
		g.types(f, from, d.Type)
		if d.Body != nil {
			g.calls(f, from, receiverName(d), receiverType(d), d.Body)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok {
				g.types(f, "type:"+memberID(f.dir, t.Name.Name), t.Type)
			}
		}
	}
}

// types relates from to every type that the node names.
func (g *golang) types(f goFile, from string, node ast.Node) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			if pkg, ok := x.X.(*ast.Ident); ok {
				g.relate(from, g.imported(f, pkg.Name, "type", x.Sel.Name), "uses")
			}
			return false
		case *ast.Ident:
			g.relate(from, "type:"+memberID(f.dir, x.Name), "uses")
		}
		return true
	})
}

// calls relates from to every function that the body calls and every type that it makes.
func (g *golang) calls(f goFile, from, receiver, receiverType string, body ast.Node) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CompositeLit:
			if x.Type != nil {
				g.types(f, from, x.Type)
			}
		case *ast.CallExpr:
			g.call(f, from, receiver, receiverType, x.Fun)
		}
		return true
	})
}

func (g *golang) call(f goFile, from, receiver, receiverType string, callee ast.Expr) {
	switch x := callee.(type) {
	case *ast.Ident:
		g.relate(from, "func:"+memberID(f.dir, x.Name), "calls")
	case *ast.IndexExpr:
		g.call(f, from, receiver, receiverType, x.X)
	case *ast.SelectorExpr:
		left, plain := x.X.(*ast.Ident)
		switch {
		case plain && f.imports[left.Name] != "":
			g.relate(from, g.imported(f, left.Name, "func", x.Sel.Name), "calls")
		case plain && receiver != "" && left.Name == receiver:
			g.relate(from, "func:"+memberID(f.dir, receiverType+"."+x.Sel.Name), "calls")
		case len(g.methods[x.Sel.Name]) == 1:
			g.relate(from, g.methods[x.Sel.Name][0], "calls")
		}
	}
}

// imported returns the id of a member of an imported package of this tree; empty for libraries.
func (g *golang) imported(f goFile, name, kind, member string) string {
	dir, inTree := strings.CutPrefix(f.imports[name], "package:")
	if !inTree {
		return ""
	}
	return kind + ":" + memberID(dir, member)
}

func (g *golang) relate(from, to, kind string) {
	if to != "" && g.r.build.Has(to) {
		g.r.build.Relate(from, to, kind, 1)
	}
}

func receiverName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 || len(d.Recv.List[0].Names) == 0 {
		return ""
	}
	return d.Recv.List[0].Names[0].Name
}

func receiverType(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	expr := d.Recv.List[0].Type
	for {
		switch x := expr.(type) {
		case *ast.StarExpr:
			expr = x.X
		case *ast.ParenExpr:
			expr = x.X
		case *ast.IndexExpr:
			expr = x.X
		case *ast.IndexListExpr:
			expr = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
