package app

import (
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// PlanText formats the graph of a job as a plan with marks and notes. log holds its events in order, with plans resolved.
// An error means that they cannot be folded.
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
