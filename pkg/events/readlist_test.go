package events_test

import (
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
)

func TestARequestThatIsNoObjectIsRefusedInWordsOfJSON(t *testing.T) {
	for body, want := range map[string]string{`[]`: "an array instead of an object", `"x"`: "a string instead of an object", `5`: "a number instead of an object"} {
		if _, faults := events.DecodeRequest([]byte(body)); len(faults) != 1 || faults[0].Cause != want {
			t.Errorf("%s: %+v, want %s", body, faults, want)
		}
	}
}
