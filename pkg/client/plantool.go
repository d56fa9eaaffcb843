package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// PlanTool offers the plan operations as one tool for a model, with a separate book: pass Name, Description and Schema to the
// model, and the arguments of its calls to Call.
type PlanTool struct {
	// Client is the connection to the planner.
	Client *Client
	// Book is the book of the model's plans, for example the id of its job; "main" if empty.
	Book string
	// Job is the job whose graph the model may see and change; none if empty.
	Job string
	// Step and Run are the SubJob and the run of that job in which the model works. Calls that name no plan then mean the graph of
	// the job, until the model makes a plan of its own; the model can change only steps that have not begun, and nothing once its
	// run is over.
	Step string
	Run  int
	// Key is the same for each repetition of a call, which then takes effect once.
	Key string
}

// Name returns the tool's name for the model.
func (PlanTool) Name() string { return "planning" }

// Description tells the model when to use the tool.
func (PlanTool) Description() string {
	return "Keeps plans for work that takes several steps: create one, mark each step as you go, update the list when it turns out otherwise. " +
		"The plan of the job that you work for is the one that is meant when you name none and have made none: get shows it with your own step, " +
		"update gives the steps that are left instead of those that have not begun, and finish ends the job with your step when its goal is reached."
}

// Schema returns the JSON Schema of the parameters.
func (PlanTool) Schema() json.RawMessage { return json.RawMessage(planSchema) }

const planSchema = `{
  "type": "object",
  "properties": {
    "command": {
      "type": "string",
      "enum": ["create", "update", "list", "get", "set_active", "mark_step", "delete", "finish"],
      "description": "What to do. create needs plan_id, title and steps; update of a plan of your own, set_active and delete need plan_id; mark_step needs step_index; finish needs step_notes: why the goal is reached."
    },
    "plan_id": {"type": "string", "description": "Which plan. get, mark_step and update take the active one without it, else the plan of the job."},
    "title": {"type": "string", "description": "What the plan is for."},
    "steps": {"type": "array", "items": {"type": "string"}, "description": "The steps in order, a sentence each. A step that stays word for word keeps its mark."},
    "step_index": {"type": "integer", "description": "The step to mark, counted from 0."},
    "step_status": {"type": "string", "enum": ["not_started", "in_progress", "completed", "blocked"], "description": "How far the step is."},
    "step_notes": {"type": "string", "description": "What is worth knowing about the step."}
  },
  "required": ["command"],
  "additionalProperties": false
}`

// Call executes the model's call and returns the text for the model. Faults of the arguments, and operations that the plan does not
// allow, are returned as such a text as well, "Error: …" with advice. Errors: those of the bus and of ctx, which the model cannot
// correct.
func (t PlanTool) Call(ctx context.Context, arguments string) (string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &fields); err != nil || fields == nil {
		return "Error: the arguments are no JSON object (send {\"command\": \"list\"} for one)", nil
	}
	var command string
	_ = json.Unmarshal(fields["command"], &command) // Any other type is not a command.
	command = strings.ToLower(strings.TrimSpace(command))
	if !slices.Contains(PlanCommands(), command) {
		return fmt.Sprintf("Error: command: unknown command %.40q (the commands are %s)", command, strings.Join(PlanCommands(), ", ")), nil
	}
	text, err := t.ask(ctx, command, fields)
	if said := refused(err); said != "" {
		return said, nil
	}
	return text, err
}

// ask sends an operation. What the tool knows overrides what the model says.
func (t PlanTool) ask(ctx context.Context, command string, fields map[string]json.RawMessage) (string, error) {
	for name, value := range map[string]any{"book": t.Book, "within": t.Job, "executor": t.Step, "run": t.Run, "key": t.Key} {
		delete(fields, name)
		if value == "" || value == 0 {
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return "", err
		}
		fields[name] = text
	}
	if t.Job == "" {
		fields["within"] = json.RawMessage(`""`)
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return "", err
	}
	var answer PlanAnswer
	text, err := t.Client.plan(ctx, command, body)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	var faults events.Faults
	if t.Step != "" && errors.As(err, &faults) && slices.ContainsFunc(faults, func(f events.Fault) bool { return f.Field == "executor" }) {
		t.Step, t.Run, t.Key = "", 0, "" // A planner of an earlier release knows no executors.
		return t.ask(ctx, command, fields)
	}
	return answer.Text, err
}

// refused returns the text for the model about an error that it can correct, "" for any other error.
func refused(err error) string {
	var many events.Faults
	var one *events.Fault
	if errors.As(err, &one) {
		many = events.Faults{*one}
	} else if !errors.As(err, &many) {
		return ""
	}
	lines := make([]string, 0, len(many))
	for _, f := range many {
		if f.Code == events.CodeUnavailable || f.Code == events.CodeNotPermitted {
			return ""
		}
		line := "Error: " + f.Error()
		if f.Hint != "" {
			line += " (" + f.Hint + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
