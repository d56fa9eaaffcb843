package app_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/expert-runner/app"
)

// FuzzConfiguration checks that any text is a configuration, or has faults with positions.
func FuzzConfiguration(f *testing.F) {
	for _, seed := range []string{
		"version: 1\nexperts: [{name: A, kind: llm, tools: [fetch]}, a.md]\n", "version: 1\nexperts: [[], {}, ~, &a {name: x, kind: human}, *a]\n",
		"version: 1\nmodels: {a: {price: {prompt: 1}}}\npolicies: [{action: ask, tool: x}]\n", "experts:\n- <<: {kind: http, url: ':'}\n  name: ${X}\n",
		"version: 1\nexperts: [{name: A, kind: http, url: 'http://h/{inputs.a', headers: {\"\": b}}, {name: P, kind: human, default: {1: 2}, expires: 1s}]\n",
		"---\nname: A\nkind: command\ncommand: [sh]\n---\n", "version: 1\n? [a]\n: b\n", "\xff", "- &a [*a]", "version: 1\nexperts: [{name: A, kind: nats, pool: p, output_schema: {type: 7}}]\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "*?/") {
			return // It could refer to files of this machine.
		}
		dir := folder(t, map[string]string{"a.yaml": text, "b.md": text})
		for _, name := range []string{"a.yaml", "b.md"} {
			_, err := app.CheckCards([]string{filepath.Join(dir, name)}, noEnv)
			var faults host.Faults
			if err != nil && !errors.As(err, &faults) {
				t.Fatalf("error %T: %v", err, err)
			}
			for _, f := range faults {
				if f.File == "" || f.Message == "" {
					t.Errorf("fault without a file or a message: %+v", f)
				}
			}
		}
	})
}
