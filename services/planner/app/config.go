package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
)

// Config is jobgraph.yaml as the planner reads it: the models. Every other section is known, and somebody else's.
type Config struct {
	// Models are the models by name. The one that is meant where nobody names any is called "default".
	Models llm.Config `yaml:"models"`

	// MCPServers, Tools, Experts, Planner, Policies and Budgets are not read here.
	MCPServers host.Skip `yaml:"mcpServers"`
	Tools      host.Skip `yaml:"tools"`
	Experts    host.Skip `yaml:"experts"`
	Planner    host.Skip `yaml:"planner"`
	Policies   host.Skip `yaml:"policies"`
	Budgets    host.Skip `yaml:"budgets"`
}

// sectionModels is the key of the models.
const sectionModels = "models"

// Validate implements host.Validator.
func (c *Config) Validate() error {
	var faults events.Faults
	if err := c.Models.Validate(); !errors.As(err, &faults) {
		return err
	}
	placed := make(events.Faults, len(faults))
	for i, f := range faults {
		f.Field = sectionModels + "." + f.Field
		placed[i] = f
	}
	return placed
}

// ReadConfig reads jobgraph.yaml strictly; no path is an empty configuration. Errors: host.Faults, each with file, line and
// column. No key is part of any of them.
func ReadConfig(path string, env host.Env) (Config, error) {
	var c Config
	if path == "" {
		return c, nil
	}
	return c, host.ReadYAML(path, env, &c)
}

// choose joins the models of the file with the one that the settings describe, and says which is meant where a request names
// none, by its configured name and by what people call it. Both are empty without any model.
func (c Config) choose(s Settings) (models llm.Config, name, shown string, err error) {
	models, name = c.Models.With(llm.Secret(s.APIKey), s.BaseURL, s.Model)
	if name == "" && len(models) > 0 {
		return nil, "", "", host.Faults{{
			Code: events.CodeMissing, Field: sectionModels, Message: fmt.Sprintf("none of %s is meant where nobody names one", strings.Join(models.Names(), ", ")),
			Hint: "call one of them default, or choose with --model or OPENAI_MODEL",
		}}
	}
	shown = name
	if m := models[name]; name == llm.DefaultModel && m.Model != "" {
		shown = m.Model
	}
	return models, name, shown, models.Validate()
}
