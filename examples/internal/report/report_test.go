package report_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/examples/internal/graph"
	"github.com/jobgraph/jobgraph/examples/internal/rank"
	"github.com/jobgraph/jobgraph/examples/internal/report"
	"github.com/jobgraph/jobgraph/examples/internal/scan"
)

func analysis() rank.Analysis {
	b := graph.NewBuilder()
	b.Add(graph.Entity{ID: "package:a", Kind: "package", Name: "a", File: "a"})
	b.Add(graph.Entity{ID: "type:a.T", Kind: "type", Name: "T|`x`\n<b>", File: "a/a.go", Line: 7})
	b.Relate("package:a", "type:a.T", "declares", 1)
	return rank.Analyse(b.Graph())
}

func TestAReportIsThreeFilesAndCanBeRepeated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	inventory := &scan.Inventory{Root: "/some/tree", CodeFiles: 1, LeftOut: []scan.Reason{{Reason: "empty", Count: 1, Example: "x|y"}}}
	first, err := report.Write(dir, analysis(), inventory)
	if err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	if second, err := report.Write(dir, analysis(), inventory); err != nil || second != first {
		t.Errorf("again: %+v and error %v, first %+v", second, err, first)
	}
	after := contents(t, dir)
	if len(after) != 3 {
		t.Errorf("the folder holds %d files", len(after))
	}
	for name, content := range before {
		if after[name] != content {
			t.Errorf("%s has changed", name)
		}
	}
	if !json.Valid([]byte(after["graph.json"])) || !strings.Contains(after["graph.svg"], "What matters in tree") {
		t.Errorf("data %.80q, picture %.80q", after["graph.json"], after["graph.svg"])
	}
}

func TestForeignNamesDoNotBreakTheTables(t *testing.T) {
	text := report.Markdown(analysis(), nil)
	want := "| `T\\|'x' <b>` | type | `a/a.go:7` | 1 | 0 |"
	if !strings.Contains(text, want) {
		t.Errorf("no line with %q in\n%s", want, text)
	}
}

func TestAFolderThatCannotBeMadeIsAnErrorWithItsPath(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := report.Write(filepath.Join(file, "out"), analysis(), nil); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, entry := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found[entry.Name()] = string(raw)
	}
	return found
}
