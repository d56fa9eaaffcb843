package app

import (
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// PlanText is the graph of a job as a plan with marks and notes, out of its events in the order of the log, with plans that
// went by reference filled in. An error means that they cannot be folded.
func PlanText(log []events.Event) (string, error) {
	var chart plan.Chart
	for i := range log {
		if _, err := chart.Step(log[i]); err != nil {
			return "", err
		}
	}
	if chart.Job == nil {
		return "", nil
	}
	board := chart.Board()
	return board.String(), nil
}
