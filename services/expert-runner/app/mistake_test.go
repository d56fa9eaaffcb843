package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// bomb returns short YAML that would be very long if every alias were expanded.
func bomb() string {
	var b strings.Builder
	b.WriteString("a: &a [x, x, x, x, x, x, x, x, x]\n")
	for c := 'b'; c < 'k'; c++ {
		before := string(c - 1)
		b.WriteString(string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+before+", ", 8) + "*" + before + "]\n")
	}
	return b.String()
}

// Any mistake in a card causes a fault with file and reason; nothing is read from elsewhere, and nothing blocks.
func TestAnyMistakeInACardIsAFault(t *testing.T) {
	card := func(keys string) string { return "---\nname: A\nkind: human\n" + keys + "---\n" }
	for name, test := range map[string]struct{ text, want string }{
		"no front matter":        {"hello", "x.md:1:1: the front matter is missing or not closed"},
		"nothing":                {"", "x.md:1:1: the front matter is missing or not closed"},
		"half a front matter":    {"---\nname: A\nkind: human\n", "x.md:1:1: the front matter is missing or not closed"},
		"a key twice":            {card("name: B\n"), "x.md:4:1: name: the key is already on line 2"},
		"a tab":                  {"---\n\tname: A\n---\n", "x.md:2: this is not YAML"},
		"broken bytes":           {card("user: \xff\xfe\n"), "x.md: this is not YAML: invalid leading UTF-8 octet"},
		"a list":                 {"---\n- a\n---\n", "x.md:2:1: is a list, expected keys and values"},
		"no name":                {"---\nname: ~\nkind: human\n---\n", "x.md:2:7: name: an expert needs a name"},
		"a name that is hidden":  {"---\nname: \"a\\0b\"\nkind: human\n---\n", "x.md:2:7: name: is longer than 200 characters, or holds one that is not shown"},
		"a name without end":     {"---\nname: " + strings.Repeat("n", 201) + "\nkind: human\n---\n", "x.md:2:7: name: is longer than 200 characters"},
		"references that grow":   {card(bomb()), "unknown key"},
		"a reference to itself":  {card("default: &a [*a]\n"), "x.md: this is not YAML: anchor 'a' value contains itself"},
		"too many levels":        {card("default: " + strings.Repeat("[", 100_000) + "\n"), "x.md:4: this is not YAML: exceeded max depth"},
		"a number without end":   {card("concurrency: 99999999999999999999\n"), `x.md:4:14: concurrency: "99999999999999999999" is not a whole number`},
		"half a number":          {card("concurrency: 1.5\n"), `x.md:4:14: concurrency: "1.5" is not a whole number`},
		"too many bytes":         {card("") + strings.Repeat("x", 5<<20), "larger than 4194304 bytes"},
		"a pattern that is none": {card("output_schema: {type: object, properties: {a: {pattern: '('}}}\n"), "x.md:4:16: output_schema: read schema"},
		"a schema elsewhere":     {card("output_schema: {$ref: 'http://127.0.0.1:1/x'}\n"), "references to other documents are not followed"},
		"a schema in a file":     {card("output_schema: {$ref: 'file:///etc/passwd'}\n"), "references to other documents are not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{"x.md": test.text})
			if got := strings.Join(faultsIn(t, dir, "."), "\n"); !strings.Contains(got, test.want) {
				t.Errorf("%.300s", got)
			}
		})
	}
	for name, make := range map[string]func(path string) error{
		"a folder":             func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":               func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to nothing":    func(path string) error { return os.Symlink("nowhere", path) },
		"a link to itself":     func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"a link to every byte": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			musttest.Do(t, make(filepath.Join(dir, "x.md")))
			for _, path := range []string{dir, filepath.Join(dir, "*.md"), filepath.Join(dir, "x.md")} {
				_, err := app.CheckCards([]string{path}, noEnv)
				var faults host.Faults
				if !errors.As(err, &faults) || len(faults) != 1 || faults[0].File == "" || faults[0].Message == "" {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
}
