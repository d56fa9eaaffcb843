package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The command of each example, as its README says it, does what is said there with the scripted model.
func TestExamplesDoWhatTheirReadmeSays(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for _, example := range []struct {
		name  string
		shows []string            // Regular expressions that the output matches.
		files map[string][]string // What the artifacts contain.
	}{
		{"bugfix", []string{`job FINISHED  1/1`, `Before: 6 cases, 2 failed\. Now: 6 cases, 0 failed\.`}, map[string][]string{
			"main/fix.patch":        {"-\treturn part[1] * 100 + part[2]", "+\treturn (negative ? -1 : 1) * (part[1] * 100 + part[2])"},
			"main/ledger/cents.awk": {"negative = sub("},
		}},
		{"report", []string{
			`completed step_1  researcher`, `completed step_2  analyst`, `\(https://town\.example/council/2026-03\)\n`,
			`\(https://town\.example/council/2026-05\)\n`, `\(https://energy\.example/schools\) \(not verified\)`,
		}, nil},
		{"sales", []string{`West grew by 63\.0 percent`, `artifact  main/revenue\.svg .* image/svg`}, map[string][]string{
			"main/findings.md": {"| South | 31155 | 23865 | -23.4 % |", "| West | 19320 | 31485 | +63.0 % |", "2025-05, West, lamp"},
			"main/revenue.svg": {"<svg ", ">North</text>", ">South</text>", ">West</text>", "</svg>"},
		}},
	} {
		t.Run(example.name, func(t *testing.T) {
			into := t.TempDir()
			p := launch(exampleEnv(t), nil, exampleCommand(t, example.name, into)...)
			if code := <-p.code; code != 0 {
				t.Fatalf("exit code %d: %s%s", code, p.stdout.String(), p.stderr.String())
			}
			for _, want := range example.shows {
				if !regexp.MustCompile(want).MatchString(p.stdout.String()) {
					t.Errorf("%q is not shown:\n%s", want, p.stdout.String())
				}
			}
			for name, wanted := range example.files { // any order: each is checked by itself.
				text, err := os.ReadFile(filepath.Join(into, filepath.FromSlash(name)))
				if err != nil {
					t.Error(err)
				}
				for _, want := range wanted {
					if !strings.Contains(string(text), want) {
						t.Errorf("%s does not contain %q:\n%s", name, want, text)
					}
				}
			}
		})
	}
}

// exampleEnv is the environment of somebody without any setting.
func exampleEnv(t *testing.T) func(name string) (string, bool) {
	t.Helper()
	vars := map[string]string{"HOME": t.TempDir(), "JOBGRAPH_SANDBOX": "best-effort", "TZ": "UTC"}
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

// exampleCommand is the command of a README without the program's name; its artifacts go into a folder.
func exampleCommand(t *testing.T, name, into string) []string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join("examples", name, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(readme), "```sh\njobgraph ")
	command, _, ended := strings.Cut(text, "\n")
	if !found || !ended {
		t.Fatalf("the README of %s has no command", name)
	}
	args := strings.Fields(command)
	for i, arg := range args {
		if arg == "--artifacts" {
			args[i+1] = into
		}
	}
	return args
}
