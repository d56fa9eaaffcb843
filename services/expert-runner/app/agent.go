package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/egress"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/agent"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/policy"
)

// What happens when the budget of an agent is used up.
const (
	onBudgetFail    = "fail"
	onBudgetSummary = "summary"
)

// kindLLM names the kind of experts that are models with tools.
const kindLLM = "llm"

// llmKind is an agent: a model with tools. The text after the front matter is its prompt.
type llmKind struct {
	// Model is a configured model; the default one if omitted.
	Model string `yaml:"model"`
	// Reasoning is mono, or dual: a thinker and an actor alternate.
	Reasoning string `yaml:"reasoning"`
	// ThinkerModel is the configured model of the thinker; the expert's model if omitted.
	ThinkerModel string `yaml:"thinker_model"`
	// Workflow lists the steps of its work, each a separate conversation.
	Workflow []stepSpec `yaml:"workflow"`
	// Evaluator makes a model judge each result before it counts.
	Evaluator bool `yaml:"evaluator"`
	// EvaluatorModel is the configured model that judges; the expert's model if omitted.
	EvaluatorModel string `yaml:"evaluator_model"`
	// EvaluatorPrompt are instructions for the judging model.
	EvaluatorPrompt string `yaml:"evaluator_prompt"`
	// Prompt are the instructions, before the text of the card.
	Prompt string `yaml:"prompt"`
	// Tools are the names of the tools that it may use.
	Tools []string `yaml:"tools"`
	// Actions are actions of the toolkit whose tools it may use in addition.
	Actions []string `yaml:"actions"`
	// Hops is how many edges between actions the recommendation follows.
	Hops int `yaml:"hops"`
	// Threshold is the minimum score of an edge of the toolkit.
	Threshold *float64 `yaml:"threshold"`
	// RequiredTools are tools that it must use before an answer counts.
	RequiredTools []string `yaml:"required_tools"`
	// MaxTurns bounds the answers of the model.
	MaxTurns int `yaml:"max_turns"`
	// CamelTurns is another spelling of max_turns.
	CamelTurns int `yaml:"maxTurns"`
	// MaxTokens bounds the tokens of all answers.
	MaxTokens int64 `yaml:"max_tokens"`
	// MaxTime limits the time of a run; checked after every answer.
	MaxTime time.Duration `yaml:"max_time"`
	// Patience is how long a run waits for a busy model in total.
	Patience time.Duration `yaml:"patience"`
	// OnBudget says what a run does when its budget is used up: fail, or end with a summary.
	OnBudget string `yaml:"on_budget"`
	// ObservationLimit is how much of a tool's answer the model sees, in bytes.
	ObservationLimit int `yaml:"observation_limit"`
	// ContextLimit is the size of the conversation in tokens above which old tool answers are compressed.
	ContextLimit int `yaml:"context_limit"`
	// Knowledge names the bases of knowledge whose best passages it is given: session, user, or global ones; the first two if omitted,
	// none for [].
	Knowledge []string `yaml:"knowledge"`
	// Retriever is a tool that finds the passages instead of the built-in search.
	Retriever string `yaml:"retriever"`
	// Memory is false to remember nothing of users, and true to also keep facts at the end of each run.
	Memory *bool `yaml:"memory"`
	// AllowAddresses are non-public addresses and ranges that fetch may reach.
	AllowAddresses []string `yaml:"allow_addresses"`
	// Run is what the programs of its tool run may do.
	Run sandboxSpec `yaml:"run"`
	// Policies decide about its tool calls, in addition to those of the configuration: the stricter verdict applies.
	Policies policy.Rules `yaml:"policies"`
}

func (a *llmKind) about() about {
	return about{name: kindLLM, workspace: true, effects: true, calls: true}
}

func (a *llmKind) faults(c *cardSpec) events.Faults {
	schema, unreadable := c.schema()
	config, err := a.config(schema)
	config.Toolboxes = []agent.Toolbox{anyBox{}} // Whether they exist is checked when the expert is built.
	faults := append(config.Faults(), a.Policies.Faults("policies")...)
	if unreadable != nil {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "output_schema", Message: unreadable.Error()})
	}
	if err != nil {
		faults = append(faults, events.Fault{
			Code: events.CodeInvalid, Field: "allow_addresses", Message: err.Error(), Hint: "use addresses such as 127.0.0.1, or ranges such as 10.0.0.0/8",
		})
	}
	if len(c.Command) > 0 {
		faults = append(faults, alien("command", kindCommand))
	}
	if a.MaxTurns != 0 && a.CamelTurns != 0 {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "maxTurns", Message: "says the same as max_turns", Hint: "keep one of the two"})
	}
	if a.OnBudget != "" && a.OnBudget != onBudgetFail && a.OnBudget != onBudgetSummary {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "on_budget", Message: fmt.Sprintf("unknown value %q", a.OnBudget), Hint: "use fail or summary"})
	}
	return append(append(append(faults, a.modeFaults()...), a.actionFaults()...), a.programFaults()...)
}

// config returns the agent's configuration according to the card.
func (a *llmKind) config(schema json.RawMessage) (agent.Config, error) {
	allow, err := egress.Ranges(a.AllowAddresses)
	return agent.Config{
		Mode: a.mode(), Workflow: a.steps(), Evaluator: agent.Evaluator{On: a.Evaluator, Prompt: a.EvaluatorPrompt},
		Prompt: a.Prompt, Tools: a.Tools, Required: a.RequiredTools, MaxTurns: cmp.Or(a.MaxTurns, a.CamelTurns), MaxTokens: a.MaxTokens, MaxTime: a.MaxTime,
		Patience: a.Patience, Summary: a.OnBudget == onBudgetSummary, Observation: a.ObservationLimit, Context: a.ContextLimit, Schema: schema, Allow: allow,
		Knowledge: a.Knowledge, Retriever: a.Retriever, Memory: a.memory(),
	}, err
}

// memory returns what the agent may remember of users.
func (a *llmKind) memory() agent.Memory {
	switch {
	case a.Memory == nil:
		return agent.ExplicitMemory
	case *a.Memory:
		return agent.SummaryMemory
	}
	return agent.NoMemory
}

// build makes an agent. Models without an engine mean that cards are only checked.
func (a *llmKind) build(c *catalog, s *Settings, f *cardFile) (*expert.Expert, events.Faults) {
	models := c.models
	config, err := a.config(f.card.OutputSchema)
	if err != nil {
		return nil, invalid("allow_addresses", err)
	}
	config.Prompt = strings.TrimSpace(a.Prompt + "\n\n" + f.body)
	if message, hint := a.equip(&config, models); message != "" {
		return nil, events.Faults{{Code: events.CodeInvalid, Field: "actions", Message: message, Hint: hint}}
	}
	config.Workspaces, config.KeepFailed, config.Artifacts = s.WorkDir, s.KeepFailed, f.artifacts()
	x := &expert.Expert{Card: f.card}
	searches(&config, x, s)
	x.Card.Tags = slices.DeleteFunc(slices.Clone(x.Card.Tags), func(tag string) bool { return strings.HasPrefix(tag, events.ToolsTag) })
	if faults := a.programs(&config, x, s, f); len(faults) > 0 {
		return nil, faults
	}
	if faults := a.bench(&config, x, c, s, f); len(faults) > 0 {
		return nil, faults
	}
	config.ID, config.Gate, config.Unattended = f.card.ID, policy.Gate{a.Policies, models.tools.Policies}, s.Unattended
	chosen := map[string]string{}
	for _, ask := range a.models() {
		name, hint, err := models.choose(ask.name)
		if err != nil {
			return nil, events.Faults{{Code: events.CodeInvalid, Field: ask.field, Message: err.Error(), Hint: hint}}
		}
		chosen[ask.field] = name
	}
	config.Model, config.Advisor, config.Evaluator.Model = chosen["model"], chosen["thinker_model"], chosen["evaluator_model"]
	config.Called, config.Trusted = models.called, models.trusted
	if models.engine != nil {
		config.Client = models.engine
	}
	config.Toolboxes, config.Planner, config.Lender = models.boxes.list(), models.boxes.planner, models.boxes.mcp
	var faults events.Faults
	runner, err := agent.New(config)
	if errors.As(err, &faults) {
		for i := range faults {
			faults[i].Code = events.CodeInvalid
		}
		return nil, faults
	}
	models.boxes.hold()
	x.Tools = config.Tools
	x.Runner, x.Close = runner, func() {
		runner.Close()
		models.boxes.drop()
	}
	return x, nil
}

// keeps reports whether the card's models and tools are the same in the new configuration, now, as in the previous one.
func (a *llmKind) keeps(before, now *models) bool {
	if !reflect.DeepEqual(before.tools, now.tools) {
		return false
	}
	for _, ask := range a.models() {
		old, _, _ := before.choose(ask.name) // It was valid when the expert was built.
		if name, _, err := now.choose(ask.name); err != nil || old != name {
			return false
		}
	}
	return true
}
