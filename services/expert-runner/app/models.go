package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
)

// models are the models that agents call, with the tools of the same configuration.
type models struct {
	engine *llm.Engine
	config llm.Config
	// names are the configured models; standard is the default one.
	names    []string
	standard string
	// called counts calls of tools.
	called func(tool, outcome string)
	// trusted counts JSON that models wrote.
	trusted func(use, trust string)
	// tools are the sections of the configuration about tools.
	tools ToolConfig
	// boxes provide the tools that the configuration names.
	boxes *toolboxes
}

// newModels makes the models of settings and configuration, possibly none. Without an engine they can be named but not
// called.
func newModels(c *Config, s *Settings) *models {
	all, standard := c.Models.With(s.variables())
	return &models{config: all, names: all.Names(), standard: standard, tools: c.ToolConfig}
}

// open makes the engine through which agents call the models.
func (m *models) open(p *host.Process, d *Deps) error {
	calls := p.Metrics.Counter("jobgraph_tool_calls_total", "Calls of tools by agents: ok, error, unknown, denied, rejected.", "tool", "outcome")
	m.called = func(tool, outcome string) { calls.WithLabelValues(tool, outcome).Inc() }
	metrics := p.Metrics.Models()
	m.trusted = metrics.JSON
	engine, err := llm.New(m.config, llm.Settings{Doer: d.Doer, Meter: modelMeter{metrics}, Secrets: p.Secrets})
	if err != nil {
		return err
	}
	p.Cleanup("models of experts", 0, func(context.Context) error { engine.Close(); return nil })
	m.engine = engine
	return nil
}

// follow takes over the engine and the counters of the previous models.
func (m *models) follow(before *models) {
	m.engine, m.called, m.trusted = before.engine, before.called, before.trusted
}

// modelMeter feeds the metrics of models.
type modelMeter struct{ *host.ModelMetrics }

// Observe implements llm.Meter.
func (m modelMeter) Observe(o llm.Observation) {
	m.Attempt(o.Model, o.Outcome, o.Tokens(), o.CostUSD, o.Took)
}

// choose returns the configured name of the model that a card names; an error includes a hint. Without an engine a card may omit
// the model, and may name any if none is configured.
func (m *models) choose(asked string) (name, hint string, err error) {
	name, known := cmp.Or(asked, m.standard), strings.Join(m.names, ", ")
	hint = "name one under models in the configuration file, or give one with --model or OPENAI_MODEL"
	switch {
	case m.engine == nil && (asked == "" || len(m.names) == 0):
		return name, "", nil
	case name == "" && known == "":
		return "", hint, errors.New("there is no model")
	case name == "":
		return "", hint, fmt.Errorf("the card names none of the models %s", known)
	case !slices.Contains(m.names, name):
		if near := host.Near(name, m.names); len(near) > 0 {
			hint = "did you mean " + near[0] + "?"
		}
		return "", hint, fmt.Errorf("%q is none of the configured models: %s", name, cmp.Or(known, "there is none"))
	}
	return name, "", nil
}
