package app

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/agent"
)

// What happens when the budget of an agent is used up.
const (
	onBudgetFail    = "fail"
	onBudgetSummary = "summary"
)

// agentFront are the keys of a card of kind llm. The text below the front matter is the prompt.
type agentFront struct {
	Model            string        `yaml:"model"`
	Prompt           string        `yaml:"prompt"`
	Tools            []string      `yaml:"tools"`
	RequiredTools    []string      `yaml:"required_tools"`
	MaxTurns         int           `yaml:"max_turns"`
	MaxTokens        int64         `yaml:"max_tokens"`
	MaxTime          time.Duration `yaml:"max_time"`
	OnBudget         string        `yaml:"on_budget"`
	ObservationLimit int           `yaml:"observation_limit"`
	ContextLimit     int           `yaml:"context_limit"`
	AllowAddresses   []string      `yaml:"allow_addresses"`
}

// faults are everything that is wrong with an agent; the fields are the keys of the card.
func (a *agentFront) faults(schema json.RawMessage, unreadable error) events.Faults {
	config, err := a.config(schema)
	faults := config.Faults()
	if unreadable != nil {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "output_schema", Message: unreadable.Error()})
	}
	if err != nil {
		faults = append(faults, events.Fault{
			Code: events.CodeInvalid, Field: "allow_addresses", Message: err.Error(), Hint: "use addresses such as 127.0.0.1, or ranges such as 10.0.0.0/8",
		})
	}
	if a.OnBudget != "" && a.OnBudget != onBudgetFail && a.OnBudget != onBudgetSummary {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "on_budget", Message: fmt.Sprintf("unknown value %q", a.OnBudget), Hint: "use fail or summary"})
	}
	return faults
}

// config is what the card says of the agent.
func (a *agentFront) config(schema json.RawMessage) (agent.Config, error) {
	allow, err := a.ranges()
	return agent.Config{
		Prompt: a.Prompt, Tools: a.Tools, Required: a.RequiredTools, MaxTurns: a.MaxTurns, MaxTokens: a.MaxTokens, MaxTime: a.MaxTime,
		Summary: a.OnBudget == onBudgetSummary, Observation: a.ObservationLimit, Context: a.ContextLimit, Schema: schema, Allow: allow,
	}, err
}

// isZero reports whether a card says nothing of an agent.
func (a *agentFront) isZero() bool { return reflect.ValueOf(*a).IsZero() }

// ranges are the addresses that fetch may reach.
func (a *agentFront) ranges() ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range a.AllowAddresses {
		prefix, err := netip.ParsePrefix(text)
		if !strings.Contains(text, "/") {
			var address netip.Addr
			if address, err = netip.ParseAddr(text); err == nil {
				prefix = netip.PrefixFrom(address, address.BitLen())
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no address and no range of them", text)
		}
		list = append(list, prefix)
	}
	return list, nil
}

// addAgent makes what runs a card of kind llm. Models nil means that cards are only looked at.
func (c *catalog) addAgent(s *Settings, f *cardFile, models *models) *expert.Expert {
	fault := func(field, message, hint string) *expert.Expert {
		c.faults = append(c.faults, host.Fault{Code: events.CodeInvalid, File: f.path, Field: field, Message: message, Hint: hint})
		return nil
	}
	config, err := f.Agent.config(f.card.OutputSchema)
	if err != nil {
		return fault("allow_addresses", err.Error(), "")
	}
	config.Prompt = strings.TrimSpace(f.Agent.Prompt + "\n\n" + f.body)
	config.Workspaces, config.KeepFailed = s.WorkDir, s.KeepFailed
	if models != nil {
		name, err := models.name(f.Agent.Model)
		if err != nil {
			return fault("model", err.Error(), "name one under models in the configuration file, or give one with --model or OPENAI_MODEL")
		}
		config.Model, config.Client, config.Called = name, models.client, models.called
	}
	runner, err := agent.New(config)
	if err != nil {
		return fault("", strings.ReplaceAll(err.Error(), "\n", "; "), "correct the card")
	}
	c.closers = append(c.closers, runner.Close)
	return &expert.Expert{Card: f.card, Runner: runner}
}
