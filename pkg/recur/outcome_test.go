package recur

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/schedule"
)

// A run records how it ended, and its result if that is small; no result can be told apart from one that is stored elsewhere.
// proves V-T12
func TestWhatIsKeptOfTheEndOfARun(t *testing.T) {
	large := json.RawMessage(`"` + strings.Repeat("x", schedule.MaxResult) + `"`)
	for name, c := range map[string]struct {
		end  events.JobEnded
		want string
	}{
		"small":       {events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}, Result: json.RawMessage(`"whole"`)}, `"whole"`},
		"none":        {events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}}, "null"},
		"large":       {events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}, Result: large}, ""},
		"a file":      {events.JobEnded{JobMoved: events.JobMoved{Status: events.Finished}, ResultRef: &events.Ref{Digest: "d"}}, ""},
		"of a failed": {events.JobEnded{JobMoved: events.JobMoved{Status: events.Failed}, Error: &events.Fault{Code: events.CodeInternal}}, ""},
	} {
		if got := Outcome(&c.end); string(got.Result) != c.want || got.Status != c.end.Status || got.Error != c.end.Error {
			t.Errorf("%s: %+v, want result %q", name, got, c.want)
		}
	}
}
