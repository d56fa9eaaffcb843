package house_test

import (
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/jobgraph/internal/house"
)

// report fails the test with one line per finding, each with its place.
func report(t *testing.T, found []house.Finding) {
	t.Helper()
	for _, finding := range found {
		t.Error(finding)
	}
}

func TestRepositoryKeepsItsRules(t *testing.T) {
	tree, err := house.Load(os.DirFS(root(t)))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Go) == 0 {
		t.Fatal("no Go file found: the rules would hold for nothing")
	}
	for _, rule := range []struct {
		name string
		find func(*house.Tree) []house.Finding
	}{
		{"arrows of the import law point down", house.Layers},
		{"an adapter has one technology", house.OneTechnology},
		{"the core has no clock, output or goroutine", house.Purity},
		{"files stay small", house.Files},
		{"the contract stays small", house.Contract},
		{"functions stay small", house.Functions},
		{"interfaces stay small", house.Interfaces},
		{"packages are named and introduced", house.Packages},
		{"exported names are documented", house.Comments},
		{"nothing is left open", house.OpenEnds},
		{"nothing sleeps", house.Sleeps},
		{"no test skips itself", house.Skips},
		{"only host and main read the environment", house.Environment},
		{"packages hold no state", house.Globals},
		{"no path or host of one machine", house.Places},
		{"commands in documents exist", house.Commands},
	} {
		t.Run(rule.name, func(t *testing.T) { report(t, rule.find(tree)) })
	}
}

func TestProgramsLinkOnlyWhatTheyNeed(t *testing.T) {
	packages := list(t, root(t), "-json=ImportPath,Name,Deps,TestImports,XTestImports,Error", "work")
	if len(packages) == 0 {
		t.Fatal("go list names no package: the rule would hold for nothing")
	}
	var all []house.Package
	for _, p := range packages {
		if p.Error != nil {
			t.Errorf("%s: %s", p.Error.Pos, p.Error.Err)
		}
		all = append(all, p.Package)
	}
	report(t, house.Links(all))
}

func TestCoreNeverDependsOnTheOrderOfAMap(t *testing.T) {
	top := root(t)
	var names []string
	for _, dir := range house.PureDirs() {
		names = append(names, "./"+dir+"/...")
	}
	for _, dir := range house.PureDirs() {
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
		result, err := check(fset, exports, p.ImportPath, parse(t, fset, top, p.Dir, p.GoFiles))
		if err != nil {
			t.Error(err)
			continue
		}
		report(t, house.MapOrder(result.fset, result.files, result.info))
	}
}
