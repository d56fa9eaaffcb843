package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

func TestTheSchemaOfTheConfigurationTakesTheDocumentedFileAndNoTypo(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	text := musttest.Get(configSchema(root))(t)
	var schema jsonschema.Schema
	musttest.Decode(t, text, &schema)
	resolved := musttest.Get(schema.Resolve(nil))(t)
	page := musttest.Read(t, filepath.Join(root, "docs", "models.md"))
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	good, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/models.md shows no configuration")
	}
	for config, fits := range map[string]bool{
		good: true,
		strings.Replace(good, "price:", "prices:", 1):                                                                                      false,
		strings.Replace(good, "version: 1", "version: 2", 1):                                                                               false,
		strings.Replace(good, "retries: 0", "retries: ${RETRIES}", 1):                                                                      true,
		strings.Replace(good, "retries: 0", "retries: none", 1):                                                                            false,
		strings.Replace(good, "retries: 0", "fallback_on: [rate_limited]", 1):                                                              true,
		strings.Replace(good, "retries: 0", "fallback_on: [bad weather]", 1):                                                               false,
		good + "settings: {log-level: debug}\nmcpServers: {files: {command: x}}\n":                                                         true,
		good + "experts: [experts/*.md, {name: Scribe, kind: llm, tools: [fetch], max_turns: 4, timeout: 1m, url: '', default: {a: 1}}]\n": true,
		good + "experts: [{name: Scribe, kinds: llm}]\n":                                                                                   false,
		good + "experts: experts/*.md\n":                                                                                                   false,
	} {
		var value any
		musttest.Do(t, yaml.Unmarshal([]byte(config), &value))
		if err := resolved.Validate(value); (err == nil) != fits {
			t.Errorf("fits %v, want %v: %v\n%s", err == nil, fits, err, config)
		}
	}
}
