package app

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/agent"
)

// How an agent reasons.
const (
	reasoningMono = "mono"
	reasoningDual = "dual"
)

// stepSpec is a step of a workflow on a card.
type stepSpec struct {
	// ID names the step; step-1, step-2 … if omitted.
	ID string `yaml:"id"`
	// Instruction says what is done in it.
	Instruction string `yaml:"instruction"`
	// After are the steps whose results it gets; the previous one if omitted, none for [].
	After []string `yaml:"after"`
	// Actions are actions of the toolkit whose tools the step may use in addition.
	Actions []string `yaml:"actions"`
	// Tools are the expert's tools that the step may use; all if omitted.
	Tools []string `yaml:"tools"`
	// RequiredTools are tools that the step must use.
	RequiredTools []string `yaml:"required_tools"`
	// Schema is the JSON Schema of its result.
	Schema map[string]any `yaml:"output_schema"`
}

// mode returns the roles in the agent's conversations.
func (a *llmKind) mode() conversation.Mode {
	if a.Reasoning == reasoningDual {
		return conversation.Dual()
	}
	return nil
}

// steps returns the steps of the agent's workflow.
func (a *llmKind) steps() []agent.Step {
	var list []agent.Step
	for i, f := range a.Workflow {
		step := agent.Step{Tools: f.Tools, Required: f.RequiredTools}
		step.ID, step.Instruction, step.After = cmp.Or(f.ID, fmt.Sprintf("step-%d", i+1)), f.Instruction, f.After
		step.Schema, _ = f.schema() // modeFaults has reported it.
		list = append(list, step)
	}
	return list
}

// schema is the JSON Schema of a step's result, nil without one.
func (f *stepSpec) schema() (json.RawMessage, error) {
	if f.Schema == nil {
		return nil, nil
	}
	return json.Marshal(f.Schema)
}

// modeFaults are the faults of the agent's reasoning settings.
func (a *llmKind) modeFaults() (faults events.Faults) {
	add := func(field, message, hint string) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: field, Message: message, Hint: hint})
	}
	if a.Reasoning != "" && a.Reasoning != reasoningMono && a.Reasoning != reasoningDual {
		add("reasoning", fmt.Sprintf("unknown value %q", a.Reasoning), "use mono or dual")
	}
	if a.ThinkerModel != "" && a.Reasoning != reasoningDual {
		add("thinker_model", "there is no thinker", "add reasoning: dual, or leave it out")
	}
	for i := range a.Workflow {
		if _, err := a.Workflow[i].schema(); err != nil {
			add(fmt.Sprintf("workflow[%d].output_schema", i), err.Error(), "")
		}
	}
	return faults
}

// namedModel is a model on a card, with its key.
type namedModel struct{ field, name string }

// models returns the models that the agent calls.
func (a *llmKind) models() []namedModel {
	return []namedModel{{"model", a.Model}, {"thinker_model", cmp.Or(a.ThinkerModel, a.Model)}, {"evaluator_model", cmp.Or(a.EvaluatorModel, a.Model)}}
}
