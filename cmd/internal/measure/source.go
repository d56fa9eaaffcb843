package main

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/cmd/internal/lint"
)

// counted counts lines by kind.
type counted struct{ code, comment, blank int }

// count sorts the lines of a file. A line with code and a comment is code.
func count(file *lint.GoFile, tree *lint.Tree) counted {
	lines := strings.Split(strings.TrimSuffix(string(file.Source), "\n"), "\n")
	comment := make([]bool, len(lines)+1)
	for _, group := range file.AST.Comments {
		from, to := tree.Fset.Position(group.Pos()), tree.Fset.Position(group.End())
		for n := from.Line; n <= min(to.Line, len(lines)); n++ {
			comment[n] = n > from.Line || strings.TrimSpace(lines[n-1][:from.Column-1]) == ""
		}
	}
	var c counted
	for i, line := range lines {
		switch {
		case strings.TrimSpace(line) == "":
			c.blank++
		case comment[i+1]:
			c.comment++
		default:
			c.code++
		}
	}
	return c
}

const (
	wantedFile     = 500
	wantedFunction = 60
)

// sourceLines counts the lines of hand-written sources, without tests.
func sourceLines(tree *lint.Tree) []row {
	var all counted
	files, longest, where := 0, 0, ""
	for _, file := range tree.Go {
		if file.Test || file.Generated {
			continue
		}
		files++
		c := count(file, tree)
		all.code, all.comment, all.blank = all.code+c.code, all.comment+c.comment, all.blank+c.blank
		if n := file.Lines(); n > longest {
			longest, where = n, file.Path
		}
	}
	return []row{
		{name: "source: lines of code", now: fmt.Sprint(all.code)},
		{name: "source: lines of comments", now: fmt.Sprint(all.comment)},
		{name: "source: files", now: fmt.Sprint(files)},
		atMost("longest file: "+where, longest, wantedFile),
		atMost("functions that are too long", len(lint.Functions(tree)), 0),
	}
}

// tests matches the functions that the go command runs.
var tests = regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)([A-Z0-9_]|$)`)

const wantedHelpers = 15

// testLines counts the lines of tests, and how many lines of functions belong to helpers, which no test command runs
// directly.
func testLines(tree *lint.Tree) []row {
	var all counted
	helpers, inside, worlds := 0, 0, 0
	for _, file := range tree.Go {
		if !file.Test {
			continue
		}
		c := count(file, tree)
		all.code, all.comment, all.blank = all.code+c.code, all.comment+c.comment, all.blank+c.blank
		for _, decl := range file.AST.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				n := tree.Fset.Position(d.End()).Line - tree.Fset.Position(d.Pos()).Line + 1
				inside += n
				if d.Recv != nil || !tests.MatchString(d.Name.Name) {
					helpers += n
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok && s.Name.Name == "world" {
						worlds++
					}
				}
			}
		}
	}
	share := helpers * 100 / max(inside, 1)
	return []row{
		{name: "tests: lines of code", now: fmt.Sprint(all.code)},
		{name: "tests: helpers' share", now: fmt.Sprintf("%d %%", share), goal: fmt.Sprintf("≤ %d %%", wantedHelpers), good: share <= wantedHelpers},
		atMost("tests: types called world", worlds, 1),
	}
}

// vague are words that avoid naming who acts.
var vague = []string{"nobody", "whoever", "somebody", "anew"}

// private matches any of the vague words.
var private = regexp.MustCompile(`(?i)\b(` + strings.Join(vague, "|") + `)\b`)

// stored begins a reason that is part of stored states: a stored log must still fold to the same bytes.
const stored = "nobody answered request "

// fixed reports whether the words of a literal are not ours to choose: it is stored, or it is a single word, which is data.
func fixed(literal string) bool {
	text := strings.Trim(literal, `"`)
	return text == stored || !strings.Contains(text, " ")
}

// words counts private words in comments, texts and documents.
func words(tree *lint.Tree) row {
	n := 0
	for _, file := range tree.Go {
		for _, group := range file.AST.Comments {
			n += len(private.FindAllString(group.Text(), -1))
		}
		if file.Test {
			continue
		}
		ast.Inspect(file.AST, func(node ast.Node) bool {
			if text, ok := node.(*ast.BasicLit); ok && !fixed(text.Value) {
				n += len(private.FindAllString(text.Value, -1))
			}
			return true
		})
	}
	for _, file := range tree.Text {
		if strings.HasSuffix(file.Path, ".md") && file.Path != "CHANGELOG.md" && !strings.Contains(file.Path, "testdata/") {
			n += len(private.FindAllString(string(file.Source), -1))
		}
	}
	return atMost("private words in comments, texts and docs", n, 0)
}

func unplaced(tree *lint.Tree) row {
	return atMost("packages without a row, names that lead nowhere", len(lint.Rooms(tree)), 0)
}

// bounds are the maximum sizes of programs that are not services, in MB.
var bounds = map[string]int{"jobgraph": 40}

const (
	serviceBound = 22
	megabyte     = 1_000_000
)

// weigh measures the programs in a folder, in MB.
func weigh(bin string) ([]row, error) {
	entries, err := os.ReadDir(bin)
	if err != nil {
		return nil, fmt.Errorf("weigh programs: %w", err)
	}
	var rows []row
	for _, entry := range entries {
		info, err := os.Stat(filepath.Join(bin, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("weigh programs: %w", err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		limit := bounds[entry.Name()]
		if limit == 0 {
			limit = serviceBound
		}
		rows = append(rows, atMost("MB of bin/"+entry.Name(), int(info.Size()+megabyte-1)/megabyte, limit))
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	return rows, nil
}
