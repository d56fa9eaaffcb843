package app

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
)

// Config is jobgraph.yaml as the expert-runner reads it: models, tools and experts. Every other section is known and belongs to another service.
type Config struct {
	// Models are the models by name. The one that is used where none is named is called "default".
	Models llm.Config `yaml:"models"`
	// Experts are card files, folders of them and patterns such as experts/*.md, all relative to this file, or the keys of a
	// card, with its text under prompt.
	Experts []host.Brief[front] `yaml:"experts"`

	// ToolConfig is what agents may use, and what they may do with it.
	ToolConfig ToolConfig `yaml:",inline"`

	// Planner and Budgets are not read here.
	Planner host.Skip `yaml:"planner"`
	Budgets host.Skip `yaml:"budgets"`
}

// faults is everything that is wrong with models and tools. It is asked for when the cards are judged, so that all faults of
// meaning come together.
func (c *Config) faults() events.Faults {
	var faults, tools events.Faults
	_ = errors.As(c.Models.Validate(), &faults) // Neither has other errors.
	_ = errors.As(c.ToolConfig.Validate(), &tools)
	faults = slices.Clone(faults)
	for i := range faults {
		faults[i].Field = "models." + faults[i].Field
	}
	return append(faults, tools...)
}

// entryAt is the place of an expert in the configuration.
func entryAt(i int) string { return fmt.Sprintf("experts[%d]", i) }
