package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/internal/lint"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// report fails the test with one line per finding, each with its place.
func report(t *testing.T, found []lint.Finding) {
	t.Helper()
	for _, finding := range found {
		t.Error(finding)
	}
}

func TestRepositoryKeepsItsRules(t *testing.T) {
	tree := musttest.Get(lint.Load(os.DirFS(root(t))))(t)
	if len(tree.Go) == 0 {
		t.Fatal("no Go file found: the rules would hold for nothing")
	}
	for _, rule := range []struct {
		name string
		find func(*lint.Tree) []lint.Finding
	}{
		{"arrows of the import law point down", lint.Layers},
		{"an adapter has one technology", lint.OneTechnology},
		{"the core has no clock, output or goroutine", lint.Purity},
		{"files stay small", lint.Files},
		{"the contract stays small", lint.Contract},
		{"functions stay small", lint.Functions},
		{"interfaces stay small", lint.Interfaces},
		{"types stay small", lint.Methods},
		{"packages are named and introduced", lint.Packages},
		{"exported names are documented", lint.Comments},
		{"nothing is left open", lint.OpenEnds},
		{"nothing sleeps", lint.Sleeps},
		{"no test skips itself", lint.Skips},
		{"only host and main read the environment", lint.Environment},
		{"packages hold no state", lint.Globals},
		{"no path or host of one machine", lint.Places},
		{"commands in documents exist", lint.Commands},
		{"each package has a row in ARCHITECTURE.md", lint.Rooms},
		{"what the guides name exists", lint.References},
		{"the glossary stays short", lint.Glossary},
	} {
		t.Run(rule.name, func(t *testing.T) { report(t, rule.find(tree)) })
	}
}

func TestProgramsLinkOnlyWhatTheyNeed(t *testing.T) {
	packages := list(t, root(t), "-json=ImportPath,Name,Deps,TestImports,XTestImports,Error", "work")
	if len(packages) == 0 {
		t.Fatal("go list names no package: the rule would hold for nothing")
	}
	var all []lint.Package
	for _, p := range packages {
		if p.Error != nil {
			t.Errorf("%s: %s", p.Error.Pos, p.Error.Err)
		}
		all = append(all, p.Package)
	}
	report(t, lint.Links(all))
}

func TestCoreNeverDependsOnTheOrderOfAMap(t *testing.T) {
	top := root(t)
	var names []string
	for _, dir := range lint.PureDirs() {
		names = append(names, "./"+dir+"/...")
	}
	for _, dir := range lint.PureDirs() {
		if _, err := os.Stat(filepath.Join(top, dir)); err != nil {
			t.Errorf("pure package: %v", err)
		}
	}
	exports := exportsOf(t, top, names...)
	packages := list(t, top, append([]string{"-json=ImportPath,Dir,GoFiles"}, names...)...)
	for _, p := range packages {
		if len(p.GoFiles) == 0 {
			t.Errorf("%s: no Go file: the rule would hold for nothing", p.ImportPath)
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range p.GoFiles {
			full := filepath.Join(p.Dir, name)
			source := musttest.Read(t, full)
			relative := musttest.Get(filepath.Rel(top, full))(t)
			file := musttest.Get(parser.ParseFile(fset, filepath.ToSlash(relative), source, parser.ParseComments))(t)
			files = append(files, file)
		}
		result, err := check(fset, exports, p.ImportPath, files)
		if err != nil {
			t.Error(err)
			continue
		}
		report(t, lint.MapOrder(result.fset, result.files, result.info))
	}
}
