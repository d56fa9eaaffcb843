package api

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// Only an answer that says that a request is not taken, and never will be, is a refusal.
func TestWhichAnswersRefuseARequest(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{events.Faults{{Code: events.CodeNotPermitted, Field: "user"}}, true},
		{events.Faults{{Code: events.CodeConflict, Field: "session"}}, true},
		{&events.Fault{Code: events.CodeMalformed}, true},
		{events.Faults{{Code: events.CodeConflict, Field: "id"}}, false},
		{&events.Fault{Code: events.CodeUnavailable, Field: "admission"}, false},
		{&events.Fault{Code: events.CodeUnavailable, Field: "disk"}, true},
		{bus.ErrUnavailable, false},
		{fmt.Errorf("state job.requested: %w", bus.ErrUnknown), false},
		{errors.New("anything"), false},
		{events.Faults{}, false},
	} {
		if got := refuses(c.err); got != c.want {
			t.Errorf("%v: %t", c.err, got)
		}
	}
}
