package main

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestTheSchemaOfAReportAllowsEachFormOfAnErrorThatReadersTake(t *testing.T) {
	text, _ := events.Schema(string(events.KindSubJobReported))
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for form, allowed := range map[string]bool{`null`: true, `"disk full"`: true, `{"code":"execution","message":"disk full"}`: true, `{"code":"execution"}`: false, `7`: false} {
		report := map[string]any{"outcome": "EXECUTION_ERROR"}
		if err := json.Unmarshal([]byte(`{"error":`+form+`}`), &report); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(report); (err == nil) != allowed {
			t.Errorf("error %s: %v", form, err)
		}
	}
}
