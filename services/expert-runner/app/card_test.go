package app_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// cardFile writes a card and returns its path.
func cardFile(t testing.TB, dir, name, front string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	musttest.Write(t, path, "---\n"+front+"\n---\nNotes.\n")
	return path
}

func noEnv(string) (string, bool) { return "", false }

func TestACardFileDescribesAnExpert(t *testing.T) {
	dir := t.TempDir()
	cardFile(t, dir, "b.md", "name: Design Expert\ndescription: Designs\nkind: command\ncommand: [sh, -c, 'true']\ntimeout: 1m\nretries: 2\nskills: [a, b]\nexamples: [Draw a schema]\npure: true\nenv: {A: b}\noutput_schema: {type: object}")
	cardFile(t, dir, "a.md", "name: Foreign\nkind: nats\npool: foreign")
	got := musttest.Get(app.CheckCards([]string{dir}, noEnv))(t)
	timeout, retries := events.Duration(time.Minute), 2
	want := []events.Card{
		{
			ID: "design-expert", Name: "Design Expert", Description: "Designs", Kind: "command", Pool: "default", Pure: true, Skills: []string{"a", "b"},
			Examples: []string{"Draw a schema"},
			Timeout:  &timeout, Retries: &retries, OutputSchema: []byte(`{"type":"object"}`),
		},
		{ID: "foreign", Name: "Foreign", Kind: "nats", Pool: "foreign"},
	}
	musttest.Equal(t, want, got)
}

func TestEveryFaultOfEveryCardIsReportedTogether(t *testing.T) {
	dir := t.TempDir()
	cardFile(t, dir, "1.md", "name: One\nkind: command\ncolour: red\ntimeout: soon")
	cardFile(t, dir, "2.md", "name: Two\nkind: command\ncommand: [./absent]")
	cardFile(t, dir, "3.md", "name: Three\nkind: nats")
	cardFile(t, dir, "4.md", "kind: magic\nconcurrency: -1")
	cardFile(t, dir, "5.md", "name: twins\nkind: command\ncommand: [sh]")
	cardFile(t, dir, "6.md", "name: Twins!\nkind: command\ncommand: [sh]")
	empty := t.TempDir()
	_, err := app.CheckCards([]string{dir, empty, filepath.Join(dir, "none.md")}, noEnv)
	var faults host.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{
		"1.md:4:1: colour: unknown key", "1.md:5:10: timeout", "2.md:4:10: command: program", "does not exist", "3.md:2:1: pool: an expert of kind nats needs a pool",
		`4.md:2:7: kind: unknown kind "magic"`, "an expert needs a name", "4.md:3:14: concurrency: must not be negative", `6.md:2:1: id: "twins" and "Twins!" have the same id`,
		"no cards in this folder", "none.md: no such card",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}

func TestTheExamplesHaveGoodCards(t *testing.T) {
	cards, err := filepath.Glob("../../../examples/inventory/experts/*.md")
	if err != nil || len(cards) == 0 {
		t.Fatalf("no example cards: %v", err)
	}
	var faults host.Faults
	_, err = app.CheckCards(cards, noEnv)
	if errors.As(err, &faults) {
		for _, f := range faults {
			if !strings.Contains(f.Message, "build it first") { // Programs are built by make.
				t.Error(f)
			}
		}
	}
}
