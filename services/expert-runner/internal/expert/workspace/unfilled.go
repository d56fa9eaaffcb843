package workspace

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/artifact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// Collision returns an *events.Fault if artifacts of one predecessor cannot both be files, because the path of one contains
// that of the other.
func Collision(results map[string]events.Result) error {
	for _, id := range slices.Sorted(maps.Keys(results)) {
		var names []string
		for _, ref := range results[id].Artifacts {
			names = append(names, ref.Name)
		}
		if folder, within, found := artifact.Collision(names); found {
			return &events.Fault{
				Code: events.CodeInputData, Field: "results." + id + ".artifacts",
				Message: fmt.Sprintf("artifact %.300q cannot be a file beside %.300q, which stands in a folder of that name", folder, within),
				Hint:    "report one of them under another name",
			}
		}
	}
	return nil
}

// Unfilled is the ending of a run whose inputs could not be prepared. It keeps the code of a fault. Results that no expert
// could use are sent back to the predecessors.
func Unfilled(err error, message string) task.Ending {
	var fault *events.Fault
	if !errors.As(err, &fault) {
		return task.Failure(events.CodeExecution, message, err.Error(), "")
	}
	outcome := events.ExecutionError
	if fault.Code == events.CodeInputData {
		outcome = events.InputDataError
	}
	return task.Ending{Report: &events.SubJobReported{Outcome: outcome, Error: fault, Lesson: fault.Error()}}
}
