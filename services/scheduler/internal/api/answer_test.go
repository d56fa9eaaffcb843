package api

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestAnAnswerHasToFitTheSchemaOfItsForm(t *testing.T) {
	const form = `{"type":"object","required":["boxes"],"properties":{"boxes":{"type":"integer"}}}`
	for answer, want := range map[string]string{
		`{"boxes":7}`:      "",
		`{"boxes":"many"}`: "/boxes: got string, want integer",
		`{}`:               "missing property 'boxes'",
		`seven`:            "is no JSON",
	} {
		err := unfit(json.RawMessage(form), json.RawMessage(answer))
		var fault *events.Fault
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", answer, err)
		case want != "" && (!errors.As(err, &fault) || fault.Code != events.CodeInvalid || fault.Field != "answer" || !strings.Contains(fault.Message, want)):
			t.Errorf("%s: %v, want %s", answer, err, want)
		}
	}
	if err := unfit(json.RawMessage(`{"type":"nothing"}`), json.RawMessage(`1`)); err != nil {
		t.Errorf("a schema that cannot be read refuses every answer: %v", err)
	}
}
