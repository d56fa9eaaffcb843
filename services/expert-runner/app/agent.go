package app

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/agent"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/policy"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// What happens when the budget of an agent is used up.
const (
	onBudgetFail    = "fail"
	onBudgetSummary = "summary"
)

// agentFront are the keys of a card of kind llm. The text below the front matter is the prompt.
type agentFront struct {
	// Model is a configured model, the default one when left out.
	Model string `yaml:"model"`
	// Reasoning is mono or dual: a thinker and an actor in turns.
	Reasoning string `yaml:"reasoning"`
	// ThinkerModel is the configured model of the thinker, that of the expert when left out.
	ThinkerModel string `yaml:"thinker_model"`
	// Workflow are the steps of its work, each a conversation of its own.
	Workflow []stepFront `yaml:"workflow"`
	// Evaluator has each result judged by a model before it counts.
	Evaluator bool `yaml:"evaluator"`
	// EvaluatorModel is the configured model that judges, that of the expert when left out.
	EvaluatorModel string `yaml:"evaluator_model"`
	// EvaluatorPrompt are instructions for the judging model.
	EvaluatorPrompt string `yaml:"evaluator_prompt"`
	// Prompt are the instructions, before the text of the card.
	Prompt string `yaml:"prompt"`
	// Tools are the names of those that it may use.
	Tools []string `yaml:"tools"`
	// Actions are actions of the toolkit, whose tools it may use, too.
	Actions []string `yaml:"actions"`
	// Hops is how many steps from action to action the toolkit's recommendation goes beyond those.
	Hops int `yaml:"hops"`
	// Threshold is the score from which an edge of the toolkit is followed.
	Threshold *float64 `yaml:"threshold"`
	// RequiredTools are those of them that it has to use before an answer counts.
	RequiredTools []string `yaml:"required_tools"`
	// MaxTurns bounds the answers of the model.
	MaxTurns int `yaml:"max_turns"`
	// CamelTurns is another spelling of max_turns.
	CamelTurns int `yaml:"maxTurns"`
	// MaxTokens bounds the tokens of all answers.
	MaxTokens int64 `yaml:"max_tokens"`
	// MaxTime bounds the time of a run; looked at after every answer.
	MaxTime time.Duration `yaml:"max_time"`
	// Patience is how long a model that has no room is waited for.
	Patience time.Duration `yaml:"patience"`
	// OnBudget is fail or summary.
	OnBudget string `yaml:"on_budget"`
	// ObservationLimit is how much of a tool's answer the model sees, in bytes.
	ObservationLimit int `yaml:"observation_limit"`
	// ContextLimit is the size of the conversation in tokens from which old answers of tools are compressed.
	ContextLimit int `yaml:"context_limit"`
	// AllowAddresses are addresses and ranges that fetch may reach although they are not public.
	AllowAddresses []string `yaml:"allow_addresses"`
	// Policies say what becomes of its calls of tools, beside those of the configuration: the strictest verdict of both holds.
	Policies policy.Rules `yaml:"policies"`
}

// faults are everything that is wrong with an agent; the fields are the keys of the card.
func (a *agentFront) faults(schema json.RawMessage, unreadable error) events.Faults {
	config, err := a.config(schema)
	config.Toolboxes = []agent.Toolbox{anyBox{}} // Which there are shows when the expert is made.
	faults := append(config.Faults(), a.Policies.Faults("policies")...)
	if unreadable != nil {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "output_schema", Message: unreadable.Error()})
	}
	if err != nil {
		faults = append(faults, events.Fault{
			Code: events.CodeInvalid, Field: "allow_addresses", Message: err.Error(), Hint: "use addresses such as 127.0.0.1, or ranges such as 10.0.0.0/8",
		})
	}
	if a.MaxTurns != 0 && a.CamelTurns != 0 {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "maxTurns", Message: "says the same as max_turns", Hint: "keep one of the two"})
	}
	if a.OnBudget != "" && a.OnBudget != onBudgetFail && a.OnBudget != onBudgetSummary {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "on_budget", Message: fmt.Sprintf("unknown value %q", a.OnBudget), Hint: "use fail or summary"})
	}
	return append(append(faults, a.modeFaults()...), a.actionFaults()...)
}

// config is what the card says of the agent.
func (a *agentFront) config(schema json.RawMessage) (agent.Config, error) {
	allow, err := tool.Ranges(a.AllowAddresses)
	return agent.Config{
		Mode: a.mode(), Workflow: a.steps(), Evaluator: agent.Evaluator{On: a.Evaluator, Prompt: a.EvaluatorPrompt},
		Prompt: a.Prompt, Tools: a.Tools, Required: a.RequiredTools, MaxTurns: cmp.Or(a.MaxTurns, a.CamelTurns), MaxTokens: a.MaxTokens, MaxTime: a.MaxTime,
		Patience: a.Patience, Summary: a.OnBudget == onBudgetSummary, Observation: a.ObservationLimit, Context: a.ContextLimit, Schema: schema, Allow: allow,
	}, err
}

// isZero reports whether a card says nothing of an agent.
func (a *agentFront) isZero() bool { return reflect.ValueOf(*a).IsZero() }

// addAgent makes what runs a card of kind llm. Models without an engine mean that cards are only looked at.
func (c *catalog) addAgent(s *Settings, f *cardFile, models *models) *expert.Expert {
	fault := func(field, message, hint string) *expert.Expert {
		c.faults = append(c.faults, f.fault(events.CodeInvalid, field, message, hint))
		return nil
	}
	config, err := f.Agent.config(f.card.OutputSchema)
	if err != nil {
		return fault("allow_addresses", err.Error(), "")
	}
	config.Prompt = strings.TrimSpace(f.Agent.Prompt + "\n\n" + f.body)
	if message, hint := f.Agent.equip(&config, models); message != "" {
		return fault("actions", message, hint)
	}
	config.Workspaces, config.KeepFailed, config.Artifacts = s.WorkDir, s.KeepFailed, f.artifacts()
	config.ID, config.Gate, config.Unattended = f.card.ID, policy.Gate{f.Agent.Policies, models.tools.Policies}, s.Unattended
	chosen := map[string]string{}
	for _, ask := range f.Agent.models() {
		name, hint, err := models.choose(ask.name)
		if err != nil {
			return fault(ask.field, err.Error(), hint)
		}
		chosen[ask.field] = name
	}
	config.Model, config.Advisor, config.Evaluator.Model = chosen["model"], chosen["thinker_model"], chosen["evaluator_model"]
	config.Called = models.called
	if models.engine != nil {
		config.Client = models.engine
	}
	config.Toolboxes, config.Planner = models.boxes.list(), models.boxes.planner
	var faults events.Faults
	runner, err := agent.New(config)
	if errors.As(err, &faults) {
		for _, one := range faults {
			fault(one.Field, one.Message, one.Hint)
		}
		return nil
	}
	models.boxes.hold()
	return &expert.Expert{Card: f.card, Runner: runner, Close: func() {
		runner.Close()
		models.boxes.drop()
	}}
}
