package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// PlanOperation is one operation on a plan document, or on the graph of a job.
type PlanOperation = verb.PlanOperation

// PlanCommands lists the commands of plan operations.
func PlanCommands() []string {
	return []string{"create", "update", "list", "get", "set_active", "mark_step", "delete", "finish"}
}

// PlanAnswer is the result of an operation.
type PlanAnswer struct {
	// Text describes the result, with the plan in a form for people and models.
	Text string `json:"text"`
	// Plan is the plan with its marks, Plans are all plans of the book for list, Active is the id of the active plan.
	Plan   *PlanBoard  `json:"plan,omitempty"`
	Plans  []PlanBoard `json:"plans,omitempty"`
	Active string      `json:"active,omitempty"`
	// Removed are the ids of plans that were removed to make room for a new one: a book keeps a limited number.
	Removed []string `json:"removed,omitempty"`
	// Request, in the answer to get, is the value of events.Request.Plan that runs the plan document. For a job it has the
	// results of the steps as execution_res, unless it would become too large.
	Request json.RawMessage `json:"request,omitempty"`
	// JobID, Status and PlanVersion describe the job, if the plan is its graph.
	JobID       string        `json:"job_id,omitempty"`
	Status      events.Status `json:"status,omitempty"`
	PlanVersion int           `json:"plan_version,omitempty"`
}

// PlanBoard is a plan with its marks.
type PlanBoard struct {
	// ID identifies it, Title is its heading, Lines are its steps in order.
	ID    string     `json:"id"`
	Title string     `json:"title"`
	Lines []PlanLine `json:"lines"`
	// Plan is the graph that the steps came from; nil for a list of texts.
	Plan json.RawMessage `json:"plan,omitempty"`
	// UsedAt is when a stored plan was last created, changed, marked or active. GoesAt is when it is removed unless it is used
	// again; zero for the active plan, and if plans are kept for ever.
	UsedAt time.Time `json:"used_at,omitzero"`
	GoesAt time.Time `json:"goes_at,omitzero"`
}

// PlanLine is one step of a plan.
type PlanLine struct {
	// ID is the SubJob of the step, in the graph of a job.
	ID string `json:"id,omitempty"`
	// Text describes the step, Mark is its status (not_started, in_progress, completed or blocked), Notes are notes about
	// it.
	Text  string `json:"text"`
	Mark  string `json:"mark,omitempty"`
	Notes string `json:"notes,omitempty"`
}

// Plan executes a plan operation. Marks and updates of a job's graph become facts in its log, and the answer shows the job
// with them. Errors: events.Faults or *events.Fault for an invalid operation, ErrNotFound, ErrConflict if the job's state
// does not allow it, and those of the bus, including ErrUnavailable if no planner answers.
func (c *Client) Plan(ctx context.Context, op PlanOperation) (PlanAnswer, error) {
	var answer PlanAnswer
	body, err := json.Marshal(op)
	if err != nil {
		return answer, fmt.Errorf("plan %s: %w", op.Command, err)
	}
	text, err := c.plan(ctx, op.Command, body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	return answer, err
}

func (c *Client) plan(ctx context.Context, command string, body []byte) ([]byte, error) {
	text, fault, err := c.bus.Services().Request(ctx, c.Names().API("plan."+command), body)
	switch {
	case errors.Is(err, bus.ErrUnavailable):
		return nil, fmt.Errorf("plan %s: %w: %w", command, err, &events.Fault{
			Code: events.CodeUnavailable, Message: "no planner answers on " + c.Names().API("plan."+command), Hint: "start one: jobgraph up, or the planner service",
		})
	case err != nil:
		return nil, fmt.Errorf("plan %s: %w", command, err)
	case fault != nil:
		return nil, refusal(text, fault)
	}
	return text, nil
}
