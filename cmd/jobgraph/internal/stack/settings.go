package stack

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
	runner "github.com/jobgraph/jobgraph/services/expert-runner/app"
	gateway "github.com/jobgraph/jobgraph/services/gateway/app"
	planner "github.com/jobgraph/jobgraph/services/planner/app"
	scheduler "github.com/jobgraph/jobgraph/services/scheduler/app"
)

// Services holds the settings that each service has of its own.
type Services struct {
	Runner    runner.Settings
	Planner   planner.Settings
	Scheduler scheduler.Settings
	Gateway   gateway.Settings
}

// ReadServices reads the settings of each service from environment and configuration file, as its own process would without
// flags; an empty path means no file. Errors: host.Faults, those of all services together.
func ReadServices(config string, env host.Env) (Services, error) {
	var s Services
	var faults host.Faults
	for _, service := range []struct {
		name    string
		declare func(*host.Flags)
	}{{"expert-runner", s.Runner.Declare}, {"planner", s.Planner.Declare}, {"scheduler", s.Scheduler.Declare}, {"gateway", s.Gateway.Declare}} {
		if err := parse(service.name, config, env, service.declare); err != nil {
			var found host.Faults
			if !errors.As(err, &found) {
				return s, err
			}
			faults = append(faults, found...)
		}
	}
	return s, faults.Err()
}

// model returns the model settings of environment and configuration file. Start reports their faults.
func (s *Settings) model() (v llm.Variables, file llm.Config) {
	own, _ := ReadServices(s.Host.Config, s.Env)          // Start reports its faults.
	config, _ := planner.ReadConfig(s.Host.Config, s.Env) // Start reports its faults.
	v = own.Planner.Variables()
	v.Model = cmp.Or(s.Model, v.Model)
	return v, config.Models
}

// Account returns the provider in the environment whose key decides which model plans; ok is false if something else does.
func (s *Settings) Account() (a llm.Account, model string, ok bool) {
	v, file := s.model()
	if _, named := file[v.Model]; s.scripted() || named || v.Model == "" && len(file) > 0 {
		return a, "", false
	}
	a, ok = v.Account()
	return a, cmp.Or(v.Model, a.Model), ok
}

// Engine returns the models of a stack with these settings, without a stack, and the configured name of the one that plans. The caller
// must close it. Errors: events.Faults, host.Faults for the script of a scripted model.
func (s *Settings) Engine() (e *llm.Engine, name string, err error) {
	v, file := s.model()
	var doer llm.Doer
	if s.scripted() {
		v, file = llm.Variables{Model: FakeModel, BaseURL: fakeAddress}, nil
		if doer, err = s.play(); err != nil {
			return nil, "", err
		}
	}
	all, name := file.With(v)
	e, err = llm.New(all, llm.Settings{Doer: doer})
	return e, name, err
}

// HasModel reports whether there is any model to plan with.
func (s *Settings) HasModel() bool {
	v, file := s.model()
	all, _ := file.With(v)
	return s.scripted() || len(all) > 0
}

func parse(service, config string, env host.Env, declare func(*host.Flags)) error {
	flags := host.NewFlags(service, env)
	var shared host.Settings // The caller's values count; these are parsed only so that their names are known.
	shared.Declare(flags)
	declare(flags)
	var args []string
	if config != "" {
		args = append(args, "--config="+config)
	}
	_, err := flags.Parse(args)
	return err
}

// ReadConfig reads the configuration file as every service does, with the cards of experts that it names; an empty path
// means no file. Errors: host.Faults, those of all services together, each once.
func ReadConfig(path string, env host.Env) (planner.Config, []events.Card, error) {
	if path == "" {
		return planner.Config{}, nil, nil
	}
	config, err := planner.ReadConfig(path, env)
	cards, more := runner.CheckCards([]string{path}, env)
	_, budgets := scheduler.ReadConfig(path, env)
	_, settings := ReadServices(path, env)
	var faults host.Faults
	for _, err := range []error{err, more, budgets, settings} {
		var others host.Faults
		if err != nil && !errors.As(err, &others) {
			return config, nil, err
		}
		for _, f := range others {
			if !slices.Contains(faults, f) {
				faults = append(faults, f)
			}
		}
	}
	return config, cards, faults.Err()
}

// checkConfig reads what planner and scheduler read. If one finds a fault, the faults of all are reported, including those
// of experts: each service would report only its own, and the first would end the others.
func checkConfig(path string, env host.Env) error {
	if path == "" {
		return nil
	}
	_, plan := planner.ReadConfig(path, env)
	_, schedule := scheduler.ReadConfig(path, env)
	if plan == nil && schedule == nil {
		return nil
	}
	_, _, err := ReadConfig(path, env)
	return err
}

// scripted reports whether a scripted model in this process answers.
func (s *Settings) scripted() bool {
	name, _, _ := strings.Cut(s.Model, ":")
	return name == FakeModel
}
