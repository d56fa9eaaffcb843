package extract_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jobgraph/jobgraph/examples/internal/extract"
	"github.com/jobgraph/jobgraph/examples/internal/scan"
)

func read(t *testing.T, kind string, tree map[string]string) extract.Extraction {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, content := range tree {
		fsys[name] = &fstest.MapFile{Data: []byte(content), Mode: 0o644}
	}
	inventory, err := scan.Survey(t.Context(), fsys, "/r", "", scan.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	got, err := extract.Extract(t.Context(), fsys, inventory.Chosen, kind, extract.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// need checks that the relations, written "from kind to", are all there.
func need(t *testing.T, got extract.Extraction, want ...string) {
	t.Helper()
	var have []string
	for _, r := range got.Relations {
		have = append(have, fmt.Sprintf("%s %s %s", r.From, r.Kind, r.To))
	}
	for _, w := range want {
		if !slices.Contains(have, w) {
			t.Errorf("no relation %q among\n%s", w, strings.Join(have, "\n"))
		}
	}
}

func TestGoIsReadByItsGrammar(t *testing.T) {
	got := read(t, scan.Code, map[string]string{
		"go.mod":     "module example.org/m\n",
		"main.go":    "package main\nimport (\n\"fmt\"\n\"example.org/m/b\"\n)\nfunc run() { fmt.Println(b.New().Do()) }\n",
		"b/b.go":     "package b\ntype T[V any] struct{ next *T[V]; u U }\ntype U int\nfunc New() *T[U] { return &T[U]{} }\nfunc (t *T[V]) Do() int { return t.help() }\n",
		"b/other.go": "package b\nfunc (t *T[V]) help() int { var u U; return int(u) }\n",
	})
	need(t, got,
		"package:. imports package:b", "package:. imports library:fmt", "func:..run calls func:b.New",
		"func:..run calls func:b.T.Do", "func:b.T.Do calls func:b.T.help", "func:b.New uses type:b.T", "type:b.T uses type:b.U",
		"type:b.T declares func:b.T.Do", "package:b declares type:b.U")
	if got.FilesRead != 3 || len(got.Faults) != 0 {
		t.Errorf("read %d files, faults %v", got.FilesRead, got.Faults)
	}
}

func TestABrokenFileGivesAFaultWithItsPlaceAndWhatCouldBeRead(t *testing.T) {
	got := read(t, scan.Code, map[string]string{"a/a.go": "package a\nfunc Good() {}\nfunc Bad( {\n"})
	if len(got.Faults) != 1 || got.Faults[0].File != "a/a.go" || !strings.Contains(got.Faults[0].Message, "a/a.go:3") {
		t.Errorf("faults %+v", got.Faults)
	}
	need(t, got, "package:a declares func:a.Good")
}

func TestOtherLanguagesAreReadByTheirLines(t *testing.T) {
	got := read(t, scan.Code, map[string]string{
		"app.py":       "import os\nfrom lib.tool import helper\n\ndef main():\n    helper(1)\n",
		"lib/tool.py":  "class Tool:\n    pass\n\nasync def helper(x):\n    return x\n",
		"web/a.ts":     "import { draw } from './b'\nexport class Page {}\ndraw(3)\n",
		"web/b.ts":     "export function draw(n: number) {}\n",
		"src/lib.rs":   "use std::fmt;\npub struct Point;\npub(crate) fn area() -> u32 { 1 }\n",
		"c/main.c":     "#include <stdio.h>\n#include \"util.h\"\nint main(void)\n{\n  util_go(1);\n}\n",
		"c/util.h":     "#pragma once\nvoid util_go(int n) {\n}\n",
		"Main.java":    "import java.util.List;\npublic final class Main {\n}\n",
		"run/setup.sh": "setup() {\n  true\n}\n",
	})
	need(t, got,
		"module:app.py imports library:os", "module:app.py imports module:lib/tool.py",
		"module:app.py calls definition:lib/tool.py#helper", "module:lib/tool.py declares definition:lib/tool.py#Tool",
		"module:web/a.ts imports module:web/b.ts", "module:web/a.ts calls definition:web/b.ts#draw",
		"module:src/lib.rs declares definition:src/lib.rs#area", "module:src/lib.rs imports library:std::fmt",
		"module:c/main.c imports module:c/util.h", "module:c/main.c calls definition:c/util.h#util_go",
		"module:Main.java declares definition:Main.java#Main", "module:run/setup.sh declares definition:run/setup.sh#setup")
}

func TestProseGivesHeadingsLinksNamesAndWhatStandsTogether(t *testing.T) {
	got := read(t, scan.Text, map[string]string{
		"README.md": "# Job Graph\n\nThe scheduler asks `JobState` and Ada Lovelace. See [more](docs/more.md#top).\n\n" +
			"The scheduler asks `JobState` again: https://example.org/x.\n\n```\nignored Fenced Words ignored Fenced Words\n```\n",
		"docs/more.md": "More\n\nAda Lovelace met the scheduler. [Back](../README.md) [gone](none.md) [odd](%zz)\n",
	})
	need(t, got,
		"document:README.md contains heading:README.md:1", "document:README.md links document:docs/more.md",
		"document:docs/more.md links document:README.md", "document:README.md links site:example.org",
		"document:README.md mentions name:jobstate", "document:docs/more.md mentions name:ada lovelace",
		"name:jobstate cooccurs term:scheduler")
	for _, e := range got.Entities {
		if strings.Contains(e.Name, "enced") {
			t.Errorf("fenced text was read: %+v", e)
		}
	}
}

func TestTextWithoutSpacesIsReadByPairsOfSigns(t *testing.T) {
	got := read(t, scan.Text, map[string]string{"a.txt": "图谱系统\n\n图谱引擎\n"})
	need(t, got, "document:a.txt mentions term:图谱")
}

func TestTheSameFilesGiveTheSameExtraction(t *testing.T) {
	tree := map[string]string{}
	for i := range 20 {
		tree[fmt.Sprintf("d%d/a.md", i)] = strings.Repeat(fmt.Sprintf("Alpha Beta meets gamma%d and Gamma Delta `x%d`.\n\n", i%3, i%4), 3)
		tree[fmt.Sprintf("d%d/a.py", i)] = fmt.Sprintf("import d%d\ndef f%d():\n    f%d(1)\n", i/2, i, i/3)
	}
	first := read(t, "", tree)
	for range 5 {
		if again := read(t, "", tree); !reflect.DeepEqual(first, again) {
			t.Fatalf("got %+v, then %+v", first, again)
		}
	}
}

func TestFilesThatHaveGoneAreFaults(t *testing.T) {
	files := []scan.File{{Path: "gone.go", Kind: scan.Code, Language: "Go"}, {Path: "../up.md", Kind: scan.Text}}
	got, err := extract.Extract(t.Context(), fstest.MapFS{}, files, "", extract.DefaultLimits())
	if err != nil || got.FilesRead != 0 || len(got.Faults) != 2 {
		t.Errorf("got %+v and error %v", got, err)
	}
	if _, err := extract.Extract(t.Context(), fstest.MapFS{}, files[:1], scan.Text, extract.DefaultLimits()); !errors.Is(err, extract.ErrNothing) {
		t.Errorf("got error %v", err)
	}
}
