package lint

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Comments finds exported names without a comment, outside tests and programs. In a group of constants or variables the
// comment of the group counts for all. Fields need comments in the contract and in settings.
func Comments(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if file.Test || file.Generated || file.AST.Name.Name == "main" {
			continue
		}
		for _, decl := range file.AST.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
					found = append(found, t.undocumented(d.Name))
				}
			case *ast.GenDecl:
				found = append(found, t.undocumentedSpecs(file, d)...)
			}
		}
	}
	return sorted(found)
}

func (t *Tree) undocumented(name *ast.Ident) Finding {
	return t.find(name.Pos(), "exported %s has no comment: say what it means, its unit and its errors", name.Name)
}

func (t *Tree) undocumentedSpecs(file *GoFile, decl *ast.GenDecl) []Finding {
	var found []Finding
	for _, spec := range decl.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && decl.Doc == nil {
				found = append(found, t.undocumented(s.Name))
			}
			if wantsFields(file, s) {
				found = append(found, t.undocumentedFields(s)...)
			}
		case *ast.ValueSpec:
			if s.Doc != nil || s.Comment != nil || decl.Doc != nil {
				continue
			}
			for _, name := range s.Names {
				if name.IsExported() {
					found = append(found, t.undocumented(name))
				}
			}
		}
	}
	return found
}

// wantsFields reports whether a type is what users write or read: the contract, and the settings of any package.
func wantsFields(file *GoFile, spec *ast.TypeSpec) bool {
	if !spec.Name.IsExported() {
		return false
	}
	name := spec.Name.Name
	settings := strings.HasSuffix(name, "Settings") || strings.HasSuffix(name, "Config") ||
		strings.HasSuffix(name, "Options") || strings.HasSuffix(name, "Limits")
	return settings || under(file.Path, contractDir)
}

func (t *Tree) undocumentedFields(spec *ast.TypeSpec) []Finding {
	record, ok := spec.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	var found []Finding
	above := ""
	for _, field := range record.Fields.List {
		if field.Doc != nil {
			above = field.Doc.Text()
		}
		for _, name := range field.Names {
			if name.IsExported() && field.Doc == nil && field.Comment == nil && !mentions(above, name.Name) {
				found = append(found, t.find(name.Pos(), "field %s.%s has no comment: say what it means and its unit", spec.Name.Name, name.Name))
			}
		}
	}
	return found
}

// mentions reports whether a comment above several fields names this one too: "Tokens and CostUSD are budgets".
func mentions(comment, name string) bool {
	return slices.Contains(strings.FieldsFunc(comment, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), name)
}

// exportedReceiver reports whether a user of the package can reach a function or method.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return true
	}
	receiver := f.Recv.List[0].Type
	for {
		switch r := receiver.(type) {
		case *ast.StarExpr:
			receiver = r.X
		case *ast.IndexExpr:
			receiver = r.X
		case *ast.IndexListExpr:
			receiver = r.X
		case *ast.Ident:
			return r.IsExported()
		default:
			return false
		}
	}
}

// openEnd matches a promise to finish later, which belongs in an issue.
var openEnd = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)

// OpenEnds finds promises to finish later: in the comments of Go files, and in the lines of files that are run.
func OpenEnds(t *Tree) []Finding {
	const text = "%s: finish it or open an issue"
	var found []Finding
	for _, file := range t.Go {
		for _, group := range file.AST.Comments {
			for _, comment := range group.List {
				if word := openEnd.FindString(comment.Text); word != "" {
					found = append(found, t.find(comment.Pos(), text, word))
				}
			}
		}
	}
	for _, file := range t.Text {
		if !isScript(file.Path) {
			continue
		}
		for n, line := range strings.Split(string(file.Source), "\n") {
			if word := openEnd.FindString(line); word != "" {
				found = append(found, Finding{file.Path, n + 1, word + ": finish it or open an issue"})
			}
		}
	}
	return sorted(found)
}

func isScript(name string) bool {
	for _, ending := range []string{".sh", ".py", ".yml", ".yaml", ".conf", "Makefile", "Dockerfile", ".ci/run"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

// isVariables reports whether a declaration is a group of variables, and not constants, types or imports.
func isVariables(decl ast.Decl) (*ast.GenDecl, bool) {
	group, ok := decl.(*ast.GenDecl)
	return group, ok && group.Tok == token.VAR
}
