package lint

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

const (
	// maxFileLines is the limit at which a file has to be split.
	maxFileLines = 500
	// maxContractLines limits what a newcomer has to read to know the whole contract.
	maxContractLines = 1600
	// maxPartLines limits a separate part of the contract, which a newcomer to jobs need not know.
	maxPartLines = 500
	// maxFunctionLines is the limit at which a function has to be split.
	maxFunctionLines = 60
	// contractDir is the module that holds the contract.
	contractDir = "pkg/events"
	// contractCodec lists files of the contract's module that add nothing to it: they encode and decode its types by hand,
	// and tests compare them with encoding/json.
	contractCodec = "pkg/events/read.go pkg/events/readjob.go pkg/events/readrequest.go pkg/events/write.go pkg/events/plainjson/scan.go pkg/events/plainjson/writer.go pkg/events/plainjson/doc.go"
	// tableShare is the part of a long function that must be one table or one switch to excuse its length.
	tableShare = 0.7
)

// Files finds Go files over the limit. Tests and generated files are exempt.
func Files(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if lines := file.Lines(); !file.Test && !file.Generated && lines > maxFileLines {
			found = append(found, Finding{file.Path, 0, fmt.Sprintf("%d lines, at most %d: split it, one noun per file", lines, maxFileLines)})
		}
	}
	return sorted(found)
}

// Contract finds a contract module over its limit.
func Contract(t *Tree) []Finding {
	totals := map[string]int{}
	for _, file := range t.Go {
		codec := slices.Contains(strings.Fields(contractCodec), file.Path)
		if under(file.Path, contractDir) && !file.Test && !file.Generated && !codec {
			totals[file.Dir()] += file.Lines()
		}
	}
	var found []Finding
	for dir, total := range totals {
		most := maxContractLines
		if dir != contractDir {
			most = maxPartLines
		}
		if total > most {
			found = append(found, Finding{dir, 0, fmt.Sprintf("%d lines of contract, at most %d: move what is not contract out", total, most)})
		}
	}
	return sorted(found)
}

// Functions finds functions over the limit. A function that is mostly one composite literal or one switch is a table and
// may be long; so may tests, which are scripts.
func Functions(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if file.Test || file.Generated {
			continue
		}
		ast.Inspect(file.AST, func(node ast.Node) bool {
			name, body := "function literal", (*ast.BlockStmt)(nil)
			switch f := node.(type) {
			case *ast.FuncDecl:
				name, body = f.Name.Name, f.Body
			case *ast.FuncLit:
				body = f.Body
			}
			if body == nil {
				return true
			}
			if lines := t.span(node); lines > maxFunctionLines && !t.isTable(body, lines) {
				found = append(found, t.find(node.Pos(), "%s has %d lines, at most %d: split it along its steps", name, lines, maxFunctionLines))
			}
			return true
		})
	}
	return sorted(found)
}

// isTable reports whether most of a function's lines are one literal or one switch. A literal that contains functions is
// wiring and not a table: each of its functions is measured separately.
func (t *Tree) isTable(body *ast.BlockStmt, lines int) bool {
	table := false
	ast.Inspect(body, func(node ast.Node) bool {
		switch node.(type) {
		case *ast.CompositeLit, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			table = table || float64(t.span(node)) >= tableShare*float64(lines)
		}
		return !table
	})
	return table
}

const maxMethods = 3

// wideInterfaces are the interfaces that may have more than three methods, each with its reason.
var wideInterfaces = map[string]string{
	"services/expert-runner/app.kind": "a kind of expert says what it is, what is wrong with a card, what it would do, and how it is built",
	"cmd/internal/bench.cast":         "a stage is one thing: what starts it also counts and ends it",
	"pkg/service/queue.Receipt":       "the four answers that the protocol of JetStream has to a delivery",
	"cmd/internal/bench.driver":       "both sides of a comparison have to offer all of what is measured, or nothing",
}

// Interfaces finds interfaces that are wider than their one user needs. An embedded interface counts as one method;
// constraints of type parameters are exempt.
func Interfaces(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if file.Test || file.Generated {
			continue
		}
		ast.Inspect(file.AST, func(node ast.Node) bool {
			spec, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			face, ok := spec.Type.(*ast.InterfaceType)
			if !ok || isConstraint(face) || wideInterfaces[file.Dir()+"."+spec.Name.Name] != "" {
				return true
			}
			if n := methods(face); n < 1 || n > maxMethods {
				found = append(found, t.find(spec.Pos(), "interface %s has %d methods, wanted 1 to %d: let each user declare what it needs, or list it in wideInterfaces with a reason", spec.Name.Name, n, maxMethods))
			}
			return true
		})
	}
	return sorted(found)
}

func methods(face *ast.InterfaceType) int {
	n := 0
	for _, field := range face.Methods.List {
		n += max(1, len(field.Names))
	}
	return n
}

func isConstraint(face *ast.InterfaceType) bool {
	for _, field := range face.Methods.List {
		switch field.Type.(type) {
		case *ast.BinaryExpr, *ast.UnaryExpr:
			return true
		}
	}
	return false
}
