package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobgraph/jobgraph/pkg/drawing"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// everyCommand calls f for each visible command, with its path.
func everyCommand(t *testing.T, f func(t *testing.T, path string, c *cobra.Command)) {
	t.Helper()
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.IsAvailableCommand() || !c.HasParent() {
			t.Run(strings.ReplaceAll(c.CommandPath(), " ", "_"), func(t *testing.T) { f(t, c.CommandPath(), c) })
		}
		for _, child := range c.Commands() {
			walk(child)
		}
	}
	walk(newApp(context.Background(), context.Background(), System{}).root())
}

func TestTheHelpOfEachCommandFitsEightyColumns(t *testing.T) {
	everyCommand(t, func(t *testing.T, _ string, c *cobra.Command) {
		var b strings.Builder
		c.SetOut(&b)
		musttest.Do(t, c.Help())
		if !strings.Contains(b.String(), "Usage:\n  jobgraph") {
			t.Errorf("no help: %q", b.String())
		}
		for line := range strings.Lines(b.String()) {
			if w := drawing.Width(strings.TrimRight(line, "\n")); w > 80 {
				t.Errorf("%d columns: %s", w, line)
			}
		}
	})
}

// Backquotes in the text of a flag name its value: a switch has none, and the name is one word.
func TestTheValueOfAFlagHasANameOfOneWord(t *testing.T) {
	everyCommand(t, func(t *testing.T, _ string, c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			name, _ := pflag.UnquoteUsage(f)
			if strings.Contains(name, " ") || f.Value.Type() == "bool" && name != "" {
				t.Errorf("--%s %s", f.Name, name)
			}
		})
	})
}

func TestEachCommandHasExamplesThatItTakes(t *testing.T) {
	left := examples()
	everyCommand(t, func(t *testing.T, path string, c *cobra.Command) {
		delete(left, strings.TrimPrefix(strings.TrimPrefix(path, "jobgraph"), " "))
		if strings.TrimSpace(c.Example) == "" {
			t.Fatal("its help has no example")
		}
		if strings.HasPrefix(path, "jobgraph completion") {
			return // These lines are for the shell.
		}
		for line := range strings.Lines(c.Example) {
			// Parse an example as the command line of a command, or of one of its subcommands.
			words := split(line)
			if words[0] == "#" {
				continue
			}
			found, args, err := c.Root().Find(words[1:])
			if err != nil || words[0] != "jobgraph" || found != c && found.Parent() != c && path != "jobgraph diff" {
				t.Fatalf("%q is no command line of it: %v", line, err)
			}
			flags := pflag.NewFlagSet("", pflag.ContinueOnError) // A copy, so that the command's own flags keep their values.
			flags.AddFlagSet(found.Flags())
			flags.AddFlagSet(found.InheritedFlags())
			if err := flags.Parse(args); err != nil {
				t.Errorf("%q: %v", line, err)
			} else if found.Args != nil {
				if err := found.Args(found, flags.Args()); err != nil {
					t.Errorf("%q: %v", line, err)
				}
			}
		}
	})
	if names := slices.Sorted(maps.Keys(left)); len(names) > 0 {
		t.Errorf("examples of commands that there are not: %q", names)
	}
}

// split splits a line as a shell does, supporting single quotes only.
func split(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

func TestALongLineOfHelpIsBrokenBelowItsText(t *testing.T) {
	word := strings.Repeat("x", 30)
	for line, want := range map[string]string{
		"short": "short",
		"  get       " + word + " " + word + " " + word: "  get       " + word + " " + word + "\n            " + word,
		"    " + word + " " + word + " " + word:         "    " + word + " " + word + "\n    " + word,
		strings.Repeat("y", 90):                         strings.Repeat("y", 90),
	} {
		if got := wrapped(line); got != want {
			t.Errorf("%q becomes\n%q, want\n%q", line, got, want)
		}
	}
}
