package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
)

// Config is what the planner reads from jobgraph.yaml: the models. The section planner is read with the settings; all other
// known sections belong to other services.
type Config struct {
	// Models are the models by name. A request that names none uses "default".
	Models llm.Config `yaml:"models"`

	// MCPServers, Tools, Toolkit, Experts, Planner, Policies and Budgets are not read here.
	MCPServers host.Skip `yaml:"mcpServers"`
	Tools      host.Skip `yaml:"tools"`
	Toolkit    host.Skip `yaml:"toolkit"`
	Experts    host.Skip `yaml:"experts"`
	Planner    host.Skip `yaml:"planner"`
	Policies   host.Skip `yaml:"policies"`
	Budgets    host.Skip `yaml:"budgets"`

	// own are the settings that choose among the models; nil if only the file is examined.
	own *Settings `yaml:"-"`
	// secrets are values that must never be printed.
	secrets []string `yaml:"-"`
}

// sectionModels is the key of the models.
const sectionModels = "models"

// Validate implements host.Validator.
func (c *Config) Validate() error {
	var faults events.Faults
	switch err := c.Models.Validate(); {
	case err == nil && c.own != nil:
		return c.meant(*c.own)
	case !errors.As(err, &faults):
		return err
	}
	placed := make(events.Faults, len(faults))
	for i, f := range faults {
		f.Field = sectionModels + "." + f.Field
		placed[i] = f
	}
	return placed
}

// ReadConfig reads jobgraph.yaml strictly; an empty path yields an empty configuration. Errors: host.Faults, each with file, line
// and column. No fault contains a key.
func ReadConfig(path string, env host.Env) (Config, error) { return readConfig(path, env, nil) }

// readConfig also reports that the default model is ambiguous, if own settings are given.
func readConfig(path string, env host.Env, own *Settings) (Config, error) {
	c := Config{own: own}
	if path == "" {
		return c, nil
	}
	file, err := host.OpenYAML(path, env, &c)
	c.secrets = file.Secrets()
	return c, err
}

// meant returns a fault if there are several models and no default.
func (c Config) meant(s Settings) error {
	models, name := c.Models.With(s.Variables())
	if name != "" || len(models) == 0 {
		return nil
	}
	return host.Faults{{
		Code: events.CodeMissing, Field: sectionModels, Message: fmt.Sprintf("none of %s is the default", strings.Join(models.Names(), ", ")),
		Hint: "call one of them default, or choose with --model or OPENAI_MODEL",
	}}
}

// choose adds the model of the settings to those of the file and returns the default: its configured name, and its name for
// people. Both are empty if there is no model.
func (c Config) choose(s Settings) (models llm.Config, name, shown string, err error) {
	models, name = c.Models.With(s.Variables())
	if err := c.meant(s); err != nil {
		return nil, "", "", err
	}
	shown = name
	if m := models[name]; name == llm.DefaultModel && m.Model != "" {
		shown = m.Model
	}
	return models, name, shown, models.Validate()
}
