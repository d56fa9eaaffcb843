package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// folder writes files into a folder of the test, by their paths below it, and returns the folder.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		place(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

// place writes a file as editors do: a reader sees the old text or the new one.
func place(t testing.TB, path, text string) {
	t.Helper()
	musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	musttest.Write(t, path+"~", text)
	musttest.Do(t, os.Rename(path+"~", path))
}

// faultsIn checks a file and returns its faults, without the folder's path.
func faultsIn(t *testing.T, dir, name string) []string {
	t.Helper()
	_, err := app.CheckCards([]string{filepath.Join(dir, name)}, noEnv)
	var faults host.Faults
	if err != nil && !errors.As(err, &faults) {
		t.Fatalf("error %v", err)
	}
	lines := []string{}
	for _, f := range faults {
		lines = append(lines, strings.ReplaceAll(f.Error(), dir+string(filepath.Separator), ""))
	}
	return lines
}

func TestAConfigurationHasCardsInItBesideItAndByPattern(t *testing.T) {
	dir := folder(t, map[string]string{
		"jobgraph.yaml": `version: 1
models: {small: {model: s}}
experts:
  - experts/*.md
  - name: Inline Expert
    kind: llm
    model: small
    maxTurns: 3
    prompt: Be brief.
  - more
`,
		"experts/a.md": "---\nname: A\nkind: human\n---\nAsk.\n", "experts/b.md": "---\nname: B\nkind: human\n---\nAsk.\n",
		"more/c.md": "---\nname: C\nkind: human\n---\nAsk.\n",
	})
	cards := musttest.Get(app.CheckCards([]string{filepath.Join(dir, "jobgraph.yaml")}, noEnv))(t)
	var ids []string
	for _, c := range cards {
		ids = append(ids, c.ID)
	}
	musttest.Equal(t, []string{"a", "b", "c", "inline-expert"}, ids)
}

// proves C-T11
func TestEveryFaultOfAConfigurationAndItsCardsIsToldTogetherWithPlaceAndHint(t *testing.T) {
	dir := folder(t, map[string]string{
		"jobgraph.yaml": `version: 1
models: {small: {model: s}}
expert: []
experts:
  - experts/*.md
  - none/*.md
  - name: Writer
    kind: lm
    prompt: ${NOBODY}
  - kind: llm
    name: Reader
    model: smal
    tools: [read_fil, terminate]
    maxTurns: 2
    max_turns: 3
  -
  - name: Program
    kind: command
    command: [./absent]
`,
		"experts/reader.md": "---\nname: Somebody\nkind: human\n---\n",
	})
	want := []string{
		`jobgraph.yaml:3:1: expert: unknown key (did you mean "experts"?)`,
		`jobgraph.yaml:9:13: experts[2].prompt: the variable NOBODY is not set (set NOBODY, or give a default: ${NOBODY:-default})`,
		`jobgraph.yaml:16:4: experts[4]: is empty, expected a text, or keys and values`,
	}
	musttest.Equal(t, want, faultsIn(t, dir, "jobgraph.yaml"))
	text := musttest.Get(os.ReadFile(filepath.Join(dir, "jobgraph.yaml")))(t)
	readable := strings.NewReplacer("${NOBODY}", "Write.", "expert: []\n", "", "  -\n", "", "read_fil,", "read_file,").Replace(string(text))
	place(t, filepath.Join(dir, "jobgraph.yaml"), readable)
	want = []string{
		"jobgraph.yaml:5:5: experts[1]: the pattern matches no file: none/*.md (cards are files such as experts/writer.md)",
		"jobgraph.yaml:7:11: experts[2].kind: unknown kind \"lm\" (did you mean llm?)",
		"jobgraph.yaml:13:15: experts[3].maxTurns: says the same as max_turns (keep one of the two)",
		"jobgraph.yaml:17:14: experts[4].command: program absent does not exist: build it first, or correct the path",
	}
	got := faultsIn(t, dir, "jobgraph.yaml")
	musttest.Equal(t, want, got)
}

func TestTheCardOfAnAgentIsAnExpertByItsShape(t *testing.T) {
	dir := folder(t, map[string]string{
		"jobgraph.yaml": "version: 1\nexperts: [agents/*.json]\n",
		"agents/a.json": `{"name": "Filings", "description": "Reads filings", "url": "http://127.0.0.1:1/", "protocolVersion": "0.3.0",
			"capabilities": {}, "skills": [{"id": "sec", "name": "SEC", "description": "d", "tags": ["10-K"]}], "metadata": {"planner_passthrough": true}}`,
	})
	cards := musttest.Get(app.CheckCards([]string{filepath.Join(dir, "jobgraph.yaml")}, noEnv))(t)
	if len(cards) != 1 || cards[0].ID != "filings" || cards[0].Kind != "a2a" || cards[0].Description != "Reads filings" || !cards[0].Passthrough {
		t.Errorf("cards %+v", cards)
	}
	place(t, filepath.Join(dir, "agents", "b.json"), `{"name": "B"}`)
	place(t, filepath.Join(dir, "agents", "c.json"), `[`)
	want := []string{
		"agents/b.json: this is no card of an agent: it needs name, and url or supportedInterfaces (cards of experts are files *.md; a file *.json is the card of an A2A agent)",
		"agents/c.json: this is no card of an agent: unexpected end of JSON input (cards of experts are files *.md; a file *.json is the card of an A2A agent)",
	}
	musttest.Equal(t, want, faultsIn(t, dir, "jobgraph.yaml"))
}
