package app

import (
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/budget"
)

// Config is the part of jobgraph.yaml that the scheduler reads: the budgets. Every other section belongs to another service.
type Config struct {
	// Budgets are what jobs may spend.
	Budgets Budgets `yaml:"budgets"`

	// Models, MCPServers, Tools, Toolkit, Experts, Planner and Policies are not read here.
	Models     host.Skip `yaml:"models"`
	MCPServers host.Skip `yaml:"mcpServers"`
	Tools      host.Skip `yaml:"tools"`
	Toolkit    host.Skip `yaml:"toolkit"`
	Experts    host.Skip `yaml:"experts"`
	Planner    host.Skip `yaml:"planner"`
	Policies   host.Skip `yaml:"policies"`
}

// Budgets limit what may be spent; an omitted budget has no limit.
type Budgets struct {
	// Job is for a job whose request has no limits of its own.
	Job Budget `yaml:"job"`
	// Session is for all jobs of one session together, in addition to the limits of their requests.
	Session Budget `yaml:"session"`
	// Day is for all jobs together from 00:00 to 24:00 UTC.
	Day Budget `yaml:"day"`
}

// Budget is an amount; zero means no limit.
type Budget struct {
	// Tokens counts the input and output tokens of models.
	Tokens int `yaml:"tokens"`
	// CostUSD is money in US dollars.
	CostUSD float64 `yaml:"cost_usd"`
}

// Validate implements host.Validator.
func (c *Config) Validate() error {
	var faults events.Faults
	for _, b := range []struct {
		name string
		Budget
	}{{"job", c.Budgets.Job}, {"session", c.Budgets.Session}, {"day", c.Budgets.Day}} {
		if b.Tokens < 0 {
			faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "budgets." + b.name + ".tokens", Message: "must not be negative", Hint: "leave it out for no bound"})
		}
		if !(b.CostUSD >= 0) {
			faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: "budgets." + b.name + ".cost_usd", Message: "must not be negative", Hint: "leave it out for no bound"})
		}
	}
	return faults.OrNil()
}

// ReadConfig reads jobgraph.yaml strictly; no path is an empty configuration. Errors: host.Faults, each with file, line and
// column.
func ReadConfig(path string, env host.Env) (Config, error) {
	var c Config
	if path == "" {
		return c, nil
	}
	return c, host.ReadYAML(path, env, &c)
}

func (b Budget) spent() events.Spent {
	return events.Spent{Tokens: int64(b.Tokens), CostUSD: b.CostUSD}
}

// ledger records spending; nil if neither sessions nor days have a budget.
func (b Budgets) ledger(on *bus.Bus) *budget.Ledger {
	if b.Session == (Budget{}) && b.Day == (Budget{}) {
		return nil
	}
	return budget.New(on.Sessions(), budget.Budgets{Session: b.Session.spent(), Day: b.Day.spent()}, time.Now)
}
