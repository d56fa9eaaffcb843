package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
)

// PlanOperation is one operation on a plan: one that is kept in a book, or the graph of a job. Which fields it needs depends
// on the command.
type PlanOperation struct {
	// Command is one of PlanCommands.
	Command string `json:"-"`
	// Book is the book that the plan is kept in; "main" when empty.
	Book string `json:"book,omitempty"`
	// PlanID names the plan, or the job whose graph is meant, which "job:ID" says for certain. get and mark_step take the
	// active one without it.
	PlanID string `json:"plan_id,omitempty"`
	// Title is the heading. Steps are texts, one after the other, each with its "[TAG]" in front if it has one; Plan is a
	// whole graph in any dialect in their place.
	Title string          `json:"title,omitempty"`
	Steps []string        `json:"steps,omitempty"`
	Plan  json.RawMessage `json:"plan,omitempty"`
	// StepIndex is the step to mark, counted from 0; StepID names a SubJob of a job instead.
	StepIndex *int   `json:"step_index,omitempty"`
	StepID    string `json:"step_id,omitempty"`
	// StepStatus is not_started, in_progress, completed or blocked; StepNotes is what is noted about the step.
	StepStatus string  `json:"step_status,omitempty"`
	StepNotes  *string `json:"step_notes,omitempty"`
}

// PlanCommands lists the commands of plan operations.
func PlanCommands() []string {
	return []string{"create", "update", "list", "get", "set_active", "mark_step", "delete"}
}

// PlanAnswer is what came of an operation.
type PlanAnswer struct {
	// Text says it, with the plan as people and models read it.
	Text string `json:"text"`
	// Plan is the plan with its marks, Plans are all of the book for list, Active is the id of the active one.
	Plan   *PlanBoard  `json:"plan,omitempty"`
	Plans  []PlanBoard `json:"plans,omitempty"`
	Active string      `json:"active,omitempty"`
	// Request is what events.Request.Plan takes to run a plan that is kept, for get.
	Request json.RawMessage `json:"request,omitempty"`
	// JobID, Status and PlanVersion are those of the job whose graph it is.
	JobID       string        `json:"job_id,omitempty"`
	Status      events.Status `json:"status,omitempty"`
	PlanVersion int           `json:"plan_version,omitempty"`
}

// PlanBoard is a plan with its marks.
type PlanBoard struct {
	// ID names it, Title is its heading, Lines are its steps in order.
	ID    string     `json:"id"`
	Title string     `json:"title"`
	Lines []PlanLine `json:"lines"`
	// Plan is the graph that the steps were read from; nil for a list of texts.
	Plan json.RawMessage `json:"plan,omitempty"`
}

// PlanLine is one step of a plan.
type PlanLine struct {
	// ID is the SubJob behind it, for the graph of a job.
	ID string `json:"id,omitempty"`
	// Text is the step, Mark how far it is (not_started, in_progress, completed or blocked), Notes what was noted about it.
	Text  string `json:"text"`
	Mark  string `json:"mark,omitempty"`
	Notes string `json:"notes,omitempty"`
}

// Plan carries out a plan operation. Marks and updates of the graph of a job are facts of its log, and the answer shows the
// job as it is with them. Errors: events.Faults or *events.Fault that say what is wrong with the operation, ErrNotFound,
// ErrConflict for what does not fit how the job stands, and those of the bus; ErrUnavailable also when no planner answers.
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
