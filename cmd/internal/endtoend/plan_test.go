package endtoend

import (
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/musttest"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
)

// proves O-T1
// proves O3
func TestOT1TwoStepsAreShownCompletedOnceTheyAre(t *testing.T) {
	virtual(t, func(s *system) {
		s.model = &voice{says: "One to five."}
		s.startAll()
		s.Submit(twoSteps("two", "steps"))
		if got := s.words("two"); !strings.HasSuffix(got, "Plan completed:\n\nOne to five.") {
			s.Errorf("%q", got)
		}
		var log []events.Event
		for e, err := range client.New(s.Bus).Events(s.Context(), "two", 0) {
			if err != nil {
				s.Fatal(err)
			}
			log = append(log, e)
		}
		text := musttest.Get(planner.PlanText(log))(s)
		if !strings.Contains(text, "Progress: 2/2 steps completed (100.0%)\n") || strings.Count(text, "[✓]") != 2 {
			s.Error(text)
		}
		answer, err := client.New(s.Bus).Plan(s.Context(), client.PlanOperation{Command: "get", PlanID: "two"})
		if err != nil || answer.Text != text || answer.Status != events.Finished {
			s.Error(answer, err)
		}
	})
}
