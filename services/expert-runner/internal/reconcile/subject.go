package reconcile

import (
	"context"
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// Requester sends requests to a responder on a subject of the bus.
type Requester interface {
	Request(ctx context.Context, subject string, body []byte) (answer []byte, fault *events.Fault, err error)
}

// Subject is a hook on the bus: the question goes out as JSON, the reply is the answer.
type Subject struct {
	// Bus sends the requests to the subject Name.
	Bus  Requester
	Name string
}

// Run implements expert.Runner.
func (s *Subject) Run(ctx context.Context, t *expert.Task) task.Ending {
	body, err := json.Marshal(map[string]any{
		"job": t.Work.Job, "subjob": t.Work.SubJob, "run": t.Work.Run, "goal": t.Work.Goal, "context": t.Work.Context, "inputs": t.Work.Inputs,
	})
	if err != nil {
		return task.Failure(events.CodeInternal, "the question cannot be written", err.Error(), "")
	}
	answer, fault, err := s.Bus.Request(ctx, s.Name, body)
	switch {
	case err != nil:
		return task.Failure(events.CodeUnavailable, "no service answers on "+s.Name, err.Error(), "start what answers there")
	case fault != nil:
		return task.Ending{Report: &events.SubJobReported{Outcome: events.ExecutionError, Error: fault}}
	}
	return task.Ending{Report: &events.SubJobReported{Outcome: events.Success, Output: answer}}
}
