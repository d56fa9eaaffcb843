package api

import (
	"errors"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// A request with a field that its verb does not have is not told to send that very field.
func TestARequestThatTakesNoIDIsNotToldToSendOne(t *testing.T) {
	var fault *events.Fault
	if err := decode([]byte(`{"id":"j"}`), &verb.JobQuery{}); !errors.As(err, &fault) || strings.Contains(fault.Hint, `"id"`) {
		t.Errorf("%v: %+v", err, fault)
	}
	if err := decode([]byte(`{"x":1}`), &struct{ ID string }{}); !errors.As(err, &fault) || !strings.Contains(fault.Hint, `"id"`) {
		t.Errorf("%v: %+v", err, fault)
	}
}
