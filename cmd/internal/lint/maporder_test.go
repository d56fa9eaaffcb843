package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/cmd/internal/lint"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// loops are functions with one loop each; the comment above each says whether its order can be seen.
const loops = `package p

import (
	"maps"
	"slices"
	"sort"
)

var _ = sort.Strings

// free: sorted behind
func collect(m map[string]int) []string {
	var keys []string
	for k := range m {
		if m[k] > 0 {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// seen: used before it is sorted
func early(m map[string]int) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	first := keys[0]
	sort.Strings(keys)
	return append(keys, first)
}

// seen: never sorted
func never(m map[string]int) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}

// free: counts
func count(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// seen: floats round
func sum(m map[string]float64) (n float64) {
	for _, v := range m {
		n += v
	}
	return n
}

// free: each turn has its own place
func copied(m map[string]int) map[string]int {
	to := map[string]int{}
	for k, v := range m {
		to[k] = v * 2
	}
	return to
}

// seen: numbers in the order of the turns
func numbered(m map[string]int) map[string]int {
	to, n := map[string]int{}, 0
	for k := range m {
		n++
		to[k] = n
	}
	return to
}

// seen: reads what other turns wrote
func depth(m map[string]string) map[string]int {
	to := map[string]int{}
	for k, parent := range m {
		to[k] = to[parent] + 1
	}
	return to
}

// free: one answer
func has(m map[string]int) bool {
	for _, v := range m {
		if v > 3 {
			return true
		}
	}
	return false
}

// seen: which one
func some(m map[string]int) string {
	for k := range m {
		return k
	}
	return ""
}

// seen: a call may do anything
func each(m map[string]int, f func(string)) {
	for k := range m {
		f(k)
	}
}

// free: says why
func excused(m map[string]int, f func(string)) {
	// any order: f only counts.
	for k := range m {
		f(k)
	}
}

// seen: gives no reason
func unexcused(m map[string]int, f func(string)) {
	for k := range m { // any order:
		f(k)
	}
}

// free: largest and pruned
func prune(m map[string]int) (top int) {
	for k, v := range m {
		top = max(top, v)
		if v == 0 {
			delete(m, k)
			continue
		}
	}
	return top
}

// free: iterator sorted on the spot
func keys(m map[string]int) []string {
	return slices.Sorted(maps.Keys(m))
}

// seen: iterator
func values(m map[string]int) []int {
	return slices.Collect(maps.Values(m))
}

// free: no map
func list(m []int, f func(int)) {
	for _, v := range m {
		f(v)
	}
}
`

func TestMapOrderTellsLoopsWhoseOrderCanBeSeen(t *testing.T) {
	fset := token.NewFileSet()
	file := musttest.Get(parser.ParseFile(fset, "p.go", loops, parser.ParseComments))(t)
	result := musttest.Get(check(fset, exportsOf(t, root(t), "maps", "slices", "sort"), "p", []*ast.File{file}))(t)
	want, got := map[string]bool{}, map[string]bool{}
	for _, finding := range lint.MapOrder(result.fset, result.files, result.info) {
		got[functionAt(fset, file, finding.Line)] = true
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(f.Doc.Text(), "seen") {
			want[f.Name.Name] = true
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("functions with a finding (-want +got):\n%s", diff)
	}
}

func functionAt(fset *token.FileSet, file *ast.File, line int) string {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && fset.Position(f.Pos()).Line <= line && line <= fset.Position(f.End()).Line {
			return f.Name.Name
		}
	}
	return ""
}
