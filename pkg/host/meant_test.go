package host_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/host"
)

func TestAFieldOfAnotherToolIsUnderstood(t *testing.T) {
	subjob := []string{"id", "goal", "title", "context", "completion_criteria", "dependencies", "expert", "output_schema", "retries", "when"}
	card := []string{"id", "name", "kind", "command", "prompt", "model"}
	for given, want := range map[string]string{
		"depends_on": "dependencies", "dependsOn": "dependencies", "agent": "expert", "task": "goal", "outputSchema": "output_schema",
		"completion-criteria": "completion_criteria", "gaol": "goal", "name": "title", "colour": "",
	} {
		if got := host.Meant(given, subjob); got != want {
			t.Errorf("%s: %q, want %q", given, got, want)
		}
	}
	for given, want := range map[string]string{"cmd": "command", "systemPrompt": "prompt", "llm": "model", "depends_on": ""} {
		if got := host.Meant(given, card); got != want {
			t.Errorf("%s: %q, want %q", given, got, want)
		}
	}
}
