package app

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
)

// Config is the part of jobgraph.yaml that the expert-runner reads: models, tools and experts. Every other section belongs to
// another service.
type Config struct {
	// Models are the models by name. The model "default" is used if none is named.
	Models llm.Config `yaml:"models"`
	// Experts are card files, folders and patterns such as experts/*.md, all relative to this file, or inline cards with their
	// text under prompt.
	Experts []host.Brief[cardSpec] `yaml:"experts"`

	// ToolConfig is which tools agents have, and what they may do with them.
	ToolConfig ToolConfig `yaml:",inline"`

	// Planner and Budgets are not read here.
	Planner host.Skip `yaml:"planner"`
	Budgets host.Skip `yaml:"budgets"`
}

// faults are the faults of models and tools. They are collected when the cards are checked, so that all faults of meaning are
// reported together.
func (c *Config) faults() events.Faults {
	var faults, tools events.Faults
	_ = errors.As(c.Models.Validate(), &faults) // No Validate has other errors.
	_ = errors.As(c.ToolConfig.Validate(), &tools)
	faults = slices.Clone(faults)
	for i := range faults {
		faults[i].Field = "models." + faults[i].Field
	}
	return append(faults, tools...)
}

// entryAt is the path of an expert in the configuration.
func entryAt(i int) string { return fmt.Sprintf("experts[%d]", i) }
