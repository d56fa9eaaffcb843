package events_test

import (
	"encoding/json"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestEveryKindHasASchema(t *testing.T) {
	for _, d := range events.Definitions() {
		text, ok := events.Schema(string(d.Kind))
		if !ok || !json.Valid(text) {
			t.Errorf("%s has no schema", d.Kind)
		}
	}
	if _, ok := events.Schema("nothing"); ok {
		t.Error("an unknown name has a schema")
	}
}
