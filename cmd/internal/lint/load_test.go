package lint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/cmd/internal/lint"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// tags are the build tags of this repository; the rules apply to files behind them as well.
const tags = "e2e,sweep"

// root is the folder that holds go.work, above the folder of this test.
func root(t *testing.T) string {
	t.Helper()
	dir := musttest.Get(os.Getwd())(t)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.work above the test: run it inside the repository")
		}
		dir = parent
	}
}

// listed is one package as go list prints it.
type listed struct {
	lint.Package
	Dir     string
	Export  string
	GoFiles []string
	Error   *struct{ Pos, Err string }
}

// list asks the go command about packages.
func list(t *testing.T, dir string, args ...string) []listed {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-e", "-tags", tags}, args...)...)
	command.Dir = dir
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	var packages []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatalf("decode go list: %v", err)
		}
		packages = append(packages, p)
	}
}

// checked is one type-checked package.
type checked struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
}

// check type-checks sources against the export data of what they import. Sources are named by path.
func check(fset *token.FileSet, exports map[string]string, path string, files []*ast.File) (checked, error) {
	lookup := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data for %s: it does not compile", path)
		}
		return os.Open(exports[path])
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{},
		Defs:  map[*ast.Ident]types.Object{},
		Uses:  map[*ast.Ident]types.Object{},
	}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	if _, err := config.Check(path, fset, files, info); err != nil {
		return checked{}, fmt.Errorf("check types of %s: %w", path, err)
	}
	return checked{fset: fset, files: files, info: info}, nil
}

// exportsOf maps each package in the dependencies of the named ones to its export data.
func exportsOf(t *testing.T, dir string, names ...string) map[string]string {
	t.Helper()
	exports := map[string]string{}
	for _, p := range list(t, dir, append([]string{"-export", "-deps", "-json=ImportPath,Export"}, names...)...) {
		exports[p.ImportPath] = p.Export
	}
	return exports
}
