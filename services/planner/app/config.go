package app

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
)

// Config is jobgraph.yaml as the planner reads it: the models. The section planner has been read with the settings; every
// other one is known, and belongs to another service.
type Config struct {
	// Models are the models by name. The one that is used where none is named is called "default".
	Models llm.Config `yaml:"models"`

	// MCPServers, Tools, Toolkit, Experts, Planner, Policies and Budgets are not read here.
	MCPServers host.Skip `yaml:"mcpServers"`
	Tools      host.Skip `yaml:"tools"`
	Toolkit    host.Skip `yaml:"toolkit"`
	Experts    host.Skip `yaml:"experts"`
	Planner    host.Skip `yaml:"planner"`
	Policies   host.Skip `yaml:"policies"`
	Budgets    host.Skip `yaml:"budgets"`

	// own are the settings that choose among the models; nil where the file is looked at alone.
	own *Settings `yaml:"-"`
	// secrets are what must never be printed.
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

// ReadConfig reads jobgraph.yaml strictly; no path is an empty configuration. Errors: host.Faults, each with file, line and
// column. No key is part of any of them.
func ReadConfig(path string, env host.Env) (Config, error) { return readConfig(path, env, nil) }

// readConfig also finds the fault that no model is meant with the settings of its own.
func readConfig(path string, env host.Env, own *Settings) (Config, error) {
	c := Config{own: own}
	if path == "" {
		return c, nil
	}
	file, err := host.OpenYAML(path, env, &c)
	c.secrets = file.Secrets()
	return c, err
}

// meant is the fault of several models without a default.
func (c Config) meant(s Settings) error {
	models, name := c.Models.With(llm.Secret(s.APIKey), s.BaseURL, s.Model)
	if name != "" || len(models) == 0 {
		return nil
	}
	return host.Faults{{
		Code: events.CodeMissing, Field: sectionModels, Message: fmt.Sprintf("none of %s is the default", strings.Join(models.Names(), ", ")),
		Hint: "call one of them default, or choose with --model or OPENAI_MODEL",
	}}
}

// choose joins the models of the file with the one that the settings describe, and says which is meant where a request names
// none, by its configured name and by what people call it. Both are empty without any model.
func (c Config) choose(s Settings) (models llm.Config, name, shown string, err error) {
	models, name = c.Models.With(llm.Secret(s.APIKey), s.BaseURL, s.Model)
	if err := c.meant(s); err != nil {
		return nil, "", "", err
	}
	shown = name
	if m := models[name]; name == llm.DefaultModel && m.Model != "" {
		shown = m.Model
	}
	return models, name, shown, models.Validate()
}
