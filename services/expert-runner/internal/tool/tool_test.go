package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/llm/lenient/mistake"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

func TestArgumentsAreReadOnceForEverybody(t *testing.T) {
	for args, want := range map[string]string{
		"":                                       `{}`,
		" null ":                                 `{}`,
		`{"b":1,"a":"<x>"}`:                      `{"a":"<x>","b":1}`,
		`{"a":1,"a":{"n":1,"n":2}}`:              `{"a":{"n":2}}`,
		`{"n":12345678901234567890123,"f":1.50}`: `{"f":1.50,"n":12345678901234567890123}`,
		"Here: {'a': 'b',}":                      `{"a":"b"}`,
	} {
		if got, err := tool.Object(args); err != nil || got != want {
			t.Errorf("%s: %s %v", args, got, err)
		}
	}
	for _, args := range []string{`[1]`, `"a"`, `7`, `rm -rf`} {
		if got, err := tool.Object(args); err == nil {
			t.Errorf("%s: %s", args, got)
		}
	}
}

// writes is the schema of a tool that writes a file.
const writes = `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"append":{"type":"boolean"}},"required":["path","content"],"additionalProperties":false}`

func TestArgumentsWithOneMeaningAreMendedByTheSchemaOfTheTool(t *testing.T) {
	for args, want := range map[string]string{
		"":     `{}`,
		"null": `{}`,
		`{"path": "a", "content": "say "hi"", "append": "true"}`: `{"append":true,"content":"say \"hi\"","path":"a"}`,
		`{"path": "a, "content": "b"}`:                           `{"content":"b","path":"a"}`,
		`{path": "a", "content": "b"}`:                           `{"content":"b","path":"a"}`,
		`{"path": "a", "content": "{"n": 1}"}`:                   `{"content":"{\"n\": 1}","path":"a"}`,
	} {
		if got, _, err := tool.Arguments(args, json.RawMessage(writes)); err != nil || got != want {
			t.Errorf("%s: %s %v", args, got, err)
		}
	}
}

func TestArgumentsThatAreAGuessAreNotUsed(t *testing.T) {
	for _, args := range []string{`{"path": "a", "path": "b", "content": "c"}`, `{"path": "a", "content": "b" c, "append": true}`, `{"path": "a", "content": "b}`} {
		got, trust, err := tool.Arguments(args, json.RawMessage(writes))
		if err == nil || got != "" || trust == "repaired" || trust == "unchanged" {
			t.Errorf("%s: %s, %s", args, got, trust)
		}
		if trust == "guess" && !strings.Contains(err.Error(), "line 1, column") {
			t.Errorf("%s: the place is not named: %v", args, err)
		}
	}
}

func TestArgumentsThatAreCutAtAnyByteAreNotUsed(t *testing.T) {
	documents := musttest.Get(mistake.Documents())(t)
	for _, d := range documents {
		schema := musttest.Get(mistake.Schema(d.Schema))(t)
		for i := 1; i < len(d.Text); i++ {
			if got, _, err := tool.Arguments(d.Text[:i], schema); err == nil {
				t.Fatalf("%s, cut at %d: %s", d.Name, i, got)
			}
		}
	}
}
