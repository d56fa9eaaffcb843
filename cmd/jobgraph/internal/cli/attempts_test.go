package cli

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// What `up` tells to try works with the experts that are there.
func TestWhatIsToBeTriedFitsTheExperts(t *testing.T) {
	person := events.Card{ID: "front-desk", Name: "Front Desk", Kind: "human"}
	for name, c := range map[string]struct {
		cards []events.Card
		want  string
	}{
		"a program":       {[]events.Card{{ID: "off", Name: "Off", Kind: "command", Disabled: true}, person}, "jobgraph -s nats://h:1 run --expert 'Front Desk' "},
		"a model":         {[]events.Card{person, {ID: "a", Name: "A", Kind: "llm"}}, "jobgraph -s nats://h:1 run 'Plan"},
		"nothing":         {nil, "start it with --model fake"},
		"nothing enabled": {[]events.Card{{ID: "off", Name: "Off", Kind: "llm", Disabled: true}}, "start it with --model fake"},
	} {
		if got := attempts("nats://h:1", c.cards); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := attempts(host.DefaultURL, []events.Card{person}); strings.Contains(got, "-s ") {
		t.Errorf("the usual address is named: %s", got)
	}
}
