package cli

import (
	"context"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// shapeless lists the commands that print no JSON, or that no script can run, with the reason.
var shapeless = map[string]string{
	"completion bash": "a shell script", "completion zsh": "a shell script", "completion fish": "a shell script", "completion powershell": "a shell script",
	"up": "services", "chat": "a talk with a person", "demo": "a guided tour", "demo crash": "a guided tour", "model serve": "a service", "mcp": "a protocol",
	"export": "a file of events", "artifacts get": "a file", "import-config": "files",
}

// jsonLine matches a command of a script that prints JSON.
var jsonLine = regexp.MustCompile(`(?m)^(?:! )?(?:exec jobgraph|exits \d+) (.*-o jsonl?.*)$`)

// Every command prints its JSON in a script, where it is checked for numbers that many programs would round.
func TestEachShapeOfJSONIsPrintedInAScript(t *testing.T) {
	root := newApp(context.Background(), context.Background(), System{}).root()
	missing := map[string]bool{}
	everyCommand(t, func(_ *testing.T, path string, c *cobra.Command) {
		path = strings.TrimPrefix(path, "jobgraph ")
		if c.Runnable() && !c.HasSubCommands() && !c.Hidden && shapeless[path] == "" {
			missing[path] = true
		}
	})
	for path := range shapeless {
		if c, _, err := root.Find(strings.Fields(path)); err != nil || c == root {
			t.Errorf("%s is no command", path)
		}
	}
	scripts, err := filepath.Glob("../../testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		text := musttest.Read(t, script)
		for _, line := range jsonLine.FindAllStringSubmatch(string(text), -1) {
			if c, _, err := root.Find(split(line[1])); err == nil {
				delete(missing, strings.TrimPrefix(c.CommandPath(), "jobgraph "))
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("no script has the JSON of %q", slices.Sorted(maps.Keys(missing)))
	}
}

// An unknown output format is refused before anything is done, with or without a bus.
func TestEachCommandRefusesAFormThatItDoesNotHave(t *testing.T) {
	t.Chdir(t.TempDir())
	musttest.Write(t, "jobgraph.yaml", "version: 1\n")
	everyCommand(t, func(t *testing.T, path string, c *cobra.Command) {
		path = strings.TrimPrefix(path, "jobgraph ")
		if !c.Runnable() || c.HasSubCommands() || shapeless[path] != "" && path != "artifacts get" {
			return
		}
		line, _, _ := strings.Cut(c.Example, "\n")
		for rest := c.Example; strings.HasPrefix(strings.TrimSpace(line), "#"); {
			_, rest, _ = strings.Cut(rest, "\n")
			line, _, _ = strings.Cut(rest, "\n")
		}
		code, said := complaint(t, append(split(line)[1:], "-o", "xml"))
		if code != ExitUsage || !strings.Contains(said, `-o "xml": use one of`) {
			t.Errorf("%s: exit %d: %s", line, code, said)
		}
	})
}
