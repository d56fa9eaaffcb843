package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
)

// config is jobgraph.yaml as the expert-runner reads it: the models. Every other section is known, and somebody else's.
type config struct {
	Models     llm.Config `yaml:"models"`
	MCPServers host.Skip  `yaml:"mcpServers"`
	Tools      host.Skip  `yaml:"tools"`
	Experts    host.Skip  `yaml:"experts"`
	Planner    host.Skip  `yaml:"planner"`
	Policies   host.Skip  `yaml:"policies"`
	Budgets    host.Skip  `yaml:"budgets"`
}

// models are those that agents ask.
type models struct {
	client llm.Client
	// names are those that are configured, standard the one that is meant where a card names none.
	names    []string
	standard string
	// called counts calls of tools.
	called func(tool, outcome string)
}

// openModels reads settings and configuration file. There need not be any model.
func openModels(p *host.Process, s *Settings, d *Deps) (*models, error) {
	var c config
	if p.Settings.Config != "" {
		if err := host.ReadYAML(p.Settings.Config, p.Env, &c); err != nil {
			return nil, err
		}
	}
	all, standard := c.Models.With(llm.Secret(s.APIKey), s.BaseURL, s.Model)
	calls := p.Metrics.Counter("jobgraph_tool_calls_total", "Calls of tools by agents: ok, error.", "tool", "outcome")
	m := &models{names: all.Names(), standard: standard, called: func(tool, outcome string) { calls.WithLabelValues(tool, outcome).Inc() }}
	engine, err := llm.New(all, llm.Settings{Doer: d.Doer, Meter: modelMeter{p.Metrics.Models()}})
	if err != nil {
		return nil, err
	}
	p.Cleanup("models of experts", 0, func(context.Context) error { engine.Close(); return nil })
	m.client = engine
	return m, nil
}

// modelMeter feeds the metrics of models.
type modelMeter struct{ *host.ModelMetrics }

// Observe implements llm.Meter.
func (m modelMeter) Observe(o llm.Observation) {
	m.Attempt(o.Model, o.Outcome, o.Tokens(), o.CostUSD, o.Took)
}

// name is the configured name of the model that a card asks for.
func (m *models) name(asked string) (string, error) {
	name := cmp.Or(asked, m.standard)
	switch {
	case name == "" && len(m.names) == 0:
		return "", fmt.Errorf("there is no model")
	case name == "":
		return "", fmt.Errorf("the card names none of the models %s", strings.Join(m.names, ", "))
	case !slices.Contains(m.names, name):
		return "", fmt.Errorf("%q is none of the configured models: %s", name, cmp.Or(strings.Join(m.names, ", "), "there is none"))
	}
	return name, nil
}
