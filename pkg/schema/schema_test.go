package schema_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/schema"
)

func TestEveryMisfitIsTold(t *testing.T) {
	s := musttest.Get(schema.Read([]byte(`{"type":"object","required":["n","why"],"properties":{"n":{"type":"integer","minimum":1}}}`)))(t)
	for value, want := range map[string][]string{
		`{"n":1,"why":"x"}`: nil,
		`{"n":0}`:           {"/: missing property 'why'", "/n: minimum: got 0, want 1"},
		`"words"`:           {"/: got string, want object"},
		`{`:                 {"is no JSON"},
	} {
		if diff := cmp.Diff(want, s.Misfits([]byte(value))); diff != "" {
			t.Errorf("%s: %s", value, diff)
		}
	}
}

func TestAWrongSchemaIsRefused(t *testing.T) {
	for _, raw := range []string{`{`, `{"type":"nothing"}`, `{"$ref":"https://example.com/s.json"}`, `{"$ref":"file:///etc/passwd"}`} {
		if _, err := schema.Read([]byte(raw)); err == nil {
			t.Errorf("%s was read", raw)
		}
	}
}
