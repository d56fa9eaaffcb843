package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// session makes calls in one workspace and returns what a model sees.
func session(t *testing.T, name string) (dir string, call func(args string) string) {
	t.Helper()
	dir = t.TempDir()
	files := musttest.Get(tool.OpenFiles(dir))(t)
	t.Cleanup(func() { _ = files.Close() })
	for _, one := range files.Tools() {
		if one.Name == name {
			return dir, func(args string) string {
				text, err := one.Call(t.Context(), tool.Call{Args: args})
				if err != nil {
					return "Error: " + err.Error()
				}
				return text
			}
		}
	}
	t.Fatalf("no tool %s", name)
	return "", nil
}

func TestEditsChangeExactlyOnePlaceAndCanBeTakenBack(t *testing.T) {
	dir, call := session(t, tool.Edit)
	steps := []struct{ name, args, want, file string }{
		{"create", `{"do":"create","path":"a.txt","new":"one\ntwo\ntwo\n"}`, "created a.txt with 12 bytes", "one\ntwo\ntwo\n"},
		{"create again", `{"do":"create","path":"a.txt","new":"x"}`, "Error: a.txt is there already", "one\ntwo\ntwo\n"},
		{"view", `{"do":"view","path":"a.txt","first":2,"last":2}`, "     2\ttwo\n", "one\ntwo\ntwo\n"},
		{"an ambiguous replacement", `{"do":"replace","path":"a.txt","old":"two","new":"2"}`, "Error: old occurs 2 times in a.txt, at lines 2, 3", "one\ntwo\ntwo\n"},
		{"an absent one", `{"do":"replace","path":"a.txt","old":"three","new":"3"}`, "Error: old does not occur in a.txt", "one\ntwo\ntwo\n"},
		{"a replacement", `{"do":"replace","path":"a.txt","old":"one\ntwo","new":"1\n2"}`, "     1\t1\n     2\t2\n", "1\n2\ntwo\n"},
		{"an insertion", `{"do":"insert","path":"a.txt","first":3,"new":"end"}`, "     4\tend\n", "1\n2\ntwo\nend"},
		{"an insertion at the beginning", `{"do":"insert","path":"a.txt","first":0,"new":"top"}`, "     1\ttop\n", "top\n1\n2\ntwo\nend"},
		{"an insertion behind the end", `{"do":"insert","path":"a.txt","first":9,"new":"x"}`, "Error: a.txt has fewer than 9 lines", "top\n1\n2\ntwo\nend"},
		{"undo", `{"do":"undo"}`, "took the last change of a.txt back", "1\n2\ntwo\nend"},
		{"undo again", `{"do":"undo"}`, "took the last change of a.txt back", "1\n2\ntwo\n"},
		{"an unknown deed", `{"do":"delete","path":"a.txt"}`, "Error: bad arguments: do is", "1\n2\ntwo\n"},
		{"an unknown argument", `{"do":"view","path":"a.txt","line":3}`, "Error: bad arguments: unknown field", "1\n2\ntwo\n"},
		{"a path outside", `{"do":"create","path":"../b.txt","new":"x"}`, "Error: ", "1\n2\ntwo\n"},
	}
	for _, step := range steps {
		if got := call(step.args); !strings.Contains(got, step.want) {
			t.Errorf("%s: got %q, want %q", step.name, got, step.want)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != step.file {
			t.Errorf("%s: the file is %q, %v", step.name, text, err)
		}
	}
	call(`{"do":"undo"}`)
	call(`{"do":"undo"}`)
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); err == nil {
		t.Error("a created file is there after its creation was taken back")
	}
	if got := call(`{"do":"undo"}`); !strings.Contains(got, "no change to undo") {
		t.Errorf("got %q", got)
	}
}

func TestFilesAreFoundByNameAndByText(t *testing.T) {
	dir, call := session(t, tool.Find)
	for name, text := range map[string]string{
		"src/a.go": "package a\n\nfunc Add() {}\n", "src/deep/b.go": "package b\n// add\n", "notes.md": "Add more\n", ".git/config": "add", "image": "add\x00",
	} {
		path := filepath.Join(dir, name)
		musttest.Write(t, path, text)
	}
	for args, want := range map[string]string{
		`{"name":"*.go"}`:     "src/a.go\nsrc/deep/b.go",
		`{"name":"src/*.go"}`: "src/a.go",
		`{"name":"src/**"}`:   "src/a.go\nsrc/deep/b.go",
		`{"text":"Add"}`:      "notes.md:1: Add more\nsrc/a.go:3: func Add() {}",
		`{"text":"add","ignore_case":true,"name":"*.go"}`: "src/a.go:3: func Add() {}\nsrc/deep/b.go:2: // add",
		`{"text":"Add","path":"src"}`:                     "src/a.go:3: func Add() {}",
		`{"text":"nowhere"}`:                              "(nothing found)",
		`{"text":"("}`:                                    "Error: text is no regular expression: ",
		`{"name":"["}`:                                    "Error: \"[\" is no pattern",
		`{}`:                                              "Error: bad arguments: name or text is needed",
		`{"name":"*","path":"../.."}`:                     "Error: ",
	} {
		got := call(args)
		if fails := strings.HasPrefix(want, "Error"); fails && !strings.HasPrefix(got, want) || !fails && got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}
