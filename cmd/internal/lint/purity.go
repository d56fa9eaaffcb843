package lint

import (
	"go/ast"
	"slices"
)

// pureDirs are the packages that are functions of their input: no clock, randomness, I/O, log or goroutine, and results
// independent of map order.
var pureDirs = []string{"pkg/graph", "pkg/llm/lenient", "services/planner/internal/finish", "services/planner/internal/plan", "services/planner/internal/planning", "services/expert-runner/internal/policy", "services/expert-runner/internal/task", "services/expert-runner/internal/conversation", "services/expert-runner/internal/recommend", "services/scheduler/internal/fair", "pkg/recur", "pkg/run", "pkg/joblog"}

// shellDirs are packages below a pure one that execute its decisions.
var shellDirs = []string{"pkg/run/lease"}

func isPure(dir string) bool {
	if slices.ContainsFunc(shellDirs, func(shell string) bool { return under(dir, shell) }) {
		return false
	}
	for _, pure := range pureDirs {
		if under(dir, pure) {
			return true
		}
	}
	return false
}

// Purity finds clocks, printing and concurrency in the pure packages. What they may import is checked by
// Layers, the order of maps by MapOrder.
func Purity(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if file.Test || !isPure(file.Dir()) {
			continue
		}
		found = append(found, t.banned(file, "time", "the core has no clock: time is the timestamp of an event",
			"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker")...)
		found = append(found, t.banned(file, "fmt", "the core does no I/O: give it back as a value",
			"Print", "Printf", "Println", "Fprint", "Fprintf", "Fprintln", "Scan", "Scanf", "Scanln")...)
		found = append(found, t.concurrent(file)...)
	}
	return sorted(found)
}

func (t *Tree) concurrent(file *GoFile) []Finding {
	const why = "the core has one owner and runs in his goroutine"
	var found []Finding
	ast.Inspect(file.AST, func(node ast.Node) bool {
		switch s := node.(type) {
		case *ast.GoStmt:
			found = append(found, t.find(s.Pos(), "go statement: %s", why))
		case *ast.SelectStmt:
			found = append(found, t.find(s.Pos(), "select statement: %s", why))
		case *ast.ChanType:
			found = append(found, t.find(s.Pos(), "channel: %s", why))
		case *ast.CallExpr:
			if name, ok := s.Fun.(*ast.Ident); ok && name.Obj == nil && (name.Name == "print" || name.Name == "println") {
				found = append(found, t.find(s.Pos(), "%s: the core does no I/O", name.Name))
			}
		}
		return true
	})
	return found
}

// PureDirs lists the folders of the pure packages, relative to the root.
func PureDirs() []string { return append([]string(nil), pureDirs...) }
