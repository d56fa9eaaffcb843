package tool_test

import (
	"testing"

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
