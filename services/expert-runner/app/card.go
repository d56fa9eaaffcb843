package app

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/a2a"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/person"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert/web"
)

// Kinds of experts that this version runs, or announces.
const (
	kindCommand = "command"
	kindNATS    = "nats"
	kindLLM     = "llm"
	kindHTTP    = "http"
	kindHuman   = "human"
	kindFunc    = "func"
	kindA2A     = "a2a"
)

// kinds are those that a card may have.
func kinds() []string { return []string{kindCommand, kindLLM, kindHTTP, kindA2A, kindHuman, kindNATS} }

// nearKinds is the hint for who wrote no kind, or none that there is.
func nearKinds(written string) string {
	if near := host.Near(written, kinds()); written != "" && len(near) > 0 {
		return "did you mean " + near[0] + "?"
	}
	return "use one of " + strings.Join(kinds(), ", ")
}

// front is the front matter of a card file, and a card in the configuration.
type front struct {
	// ID goes into subjects; derived from the name when left out.
	ID string `yaml:"id"`
	// Name is for people and for plans.
	Name string `yaml:"name"`
	// Description says what the expert is good for.
	Description string `yaml:"description"`
	// Kind is command, llm, http, a2a, human or nats.
	Kind string `yaml:"kind"`
	// Command is the program and its arguments, of kind command. A relative path starts at the folder of the file.
	Command []string `yaml:"command"`
	// Env is added to the program's clean environment.
	Env map[string]string `yaml:"env"`
	// StdoutLimit bounds what the program may print as its result, in bytes.
	StdoutLimit int64 `yaml:"stdout_limit"`
	// Artifacts are patterns of files in the workspace that a SUCCESS hands on, out/** when left out; for kinds command and llm.
	Artifacts []string `yaml:"artifacts"`
	// Idempotent says whether a run that died half-way may be repeated.
	Idempotent *bool `yaml:"idempotent"`
	// Pool is the runner pool that serves the expert, default when left out.
	Pool string `yaml:"pool"`
	// PoolConcurrency bounds the runs of the pool at once over all of its workers; 0 lifts the bound, none leaves it as it is.
	PoolConcurrency *int `yaml:"pool_concurrency"`
	// Pure experts have no effects: at least once, the first report wins.
	Pure bool `yaml:"pure"`
	// Skills are for selection.
	Skills []string `yaml:"skills"`
	// Tags are for selection; the tag default marks the expert of steps that name none.
	Tags []string `yaml:"tags"`
	// Examples are requests that it is good at, in the words of people.
	Examples []string `yaml:"examples"`
	// Hidden experts are not for plans, but for those who ask by name.
	Hidden bool `yaml:"hidden"`
	// Disabled experts get no work.
	Disabled bool `yaml:"disabled"`
	// Passthrough experts take a whole goal as one SubJob.
	Passthrough bool `yaml:"passthrough"`
	// Concurrency bounds the runs at once on one runner; 0 is the runner's limit.
	Concurrency int `yaml:"concurrency"`
	// Timeout is the default of its SubJobs.
	Timeout *time.Duration `yaml:"timeout"`
	// Retries is the default of its SubJobs.
	Retries *int `yaml:"retries"`
	// Schema is the JSON Schema of its results.
	Schema map[string]any `yaml:"output_schema"`
	// Reconcile says who knows whether an effect in doubt took place.
	Reconcile hookFront `yaml:"reconcile"`
	// A2A is the remote agent of kind a2a.
	A2A a2a.Config `yaml:"a2a"`

	Box   boxFront      `yaml:",inline"`
	HTTP  web.Config    `yaml:",inline"`
	Human person.Config `yaml:",inline"`
	Agent agentFront    `yaml:",inline"`
}

// maxCardName is how long the name of an expert may be, in characters.
const maxCardName = 200

// nameable reports whether a name can stand in a line for people, and in a prompt.
func nameable(name string) bool {
	return utf8.RuneCountInString(name) <= maxCardName && !strings.ContainsFunc(name, unicode.IsControl)
}

// checkNames looks at what the expert and its pool are called.
func (c *front) checkNames(add func(code events.Code, field, message, hint string)) {
	if strings.TrimSpace(c.Name) == "" && c.ID == "" {
		add(events.CodeMissing, "name", "an expert needs a name", "name: Design Expert")
	}
	if !nameable(c.Name) {
		add(events.CodeInvalid, "name", fmt.Sprintf("is longer than %d characters, or holds one that is not shown", maxCardName), "name: Design Expert")
	}
	if c.ID != "" && !events.ValidID(c.ID) {
		add(events.CodeInvalid, "id", fmt.Sprintf("%q does not fit", c.ID), "use 1 to 64 of A-Z a-z 0-9 _ -, or leave it out")
	}
	if c.Pool != "" && !events.ValidID(c.Pool) {
		add(events.CodeInvalid, "pool", fmt.Sprintf("%q does not fit", c.Pool), "use 1 to 64 of A-Z a-z 0-9 _ -")
	}
}

// Validate implements host.Validator.
func (c *front) Validate() error {
	var faults host.Faults
	add := func(code events.Code, field, message, hint string) {
		faults = append(faults, host.Fault{Code: code, Field: field, Message: message, Hint: hint})
	}
	c.checkNames(add)
	switch c.Kind {
	case kindCommand:
		if len(c.Command) == 0 {
			add(events.CodeMissing, "command", "a command expert needs its program", `command: ["./program", "argument"]`)
		}
		for _, f := range c.Box.faults() {
			add(f.Code, f.Field, f.Message, f.Hint)
		}
	case kindNATS:
		if len(c.Command) > 0 {
			add(events.CodeInvalid, "command", "an expert of kind nats runs elsewhere", "leave it out, or use kind: command")
		}
		if c.Pool == "" || c.Pool == events.DefaultPool {
			add(events.CodeMissing, "pool", "an expert of kind nats needs a pool of its own", "pool: "+events.Slug(c.Name))
		}
	case kindHTTP, kindA2A, kindLLM:
		for _, f := range c.own() {
			add(f.Code, f.Field, f.Message, f.Hint)
		}
	case kindHuman:
	case "":
		add(events.CodeMissing, "kind", "no kind", nearKinds(""))
	default:
		add(events.CodeInvalid, "kind", fmt.Sprintf("unknown kind %q", c.Kind), nearKinds(c.Kind))
	}
	if slices.Contains(kinds(), c.Kind) {
		for _, misplaced := range slices.Concat(c.misplaced(), c.Reconcile.faults(c), c.artifactFaults()) {
			add(events.CodeInvalid, misplaced.Field, misplaced.Message, misplaced.Hint)
		}
	}
	for _, limit := range []struct {
		field string
		bad   bool
	}{
		{"stdout_limit", c.StdoutLimit < 0},
		{"concurrency", c.Concurrency < 0},
		{"pool_concurrency", c.PoolConcurrency != nil && *c.PoolConcurrency < 0},
		{"timeout", c.Timeout != nil && *c.Timeout < 0},
		{"retries", c.Retries != nil && *c.Retries < 0},
	} {
		if limit.bad {
			add(events.CodeInvalid, limit.field, "must not be negative", "")
		}
	}
	return faults.Err()
}

// own are the faults of the keys that belong to the card's kind alone.
func (c *front) own() events.Faults {
	switch c.Kind {
	case kindHTTP:
		return c.HTTP.Faults()
	case kindA2A:
		faults := c.A2A.Faults()
		for i := range faults {
			faults[i].Field = "a2a." + faults[i].Field
		}
		return faults
	}
	return c.Agent.faults(c.schema())
}

// misplaced are keys that say nothing for the card's kind.
func (c *front) misplaced() events.Faults {
	var faults events.Faults
	for _, of := range []struct {
		kind, field string
		given       bool
	}{
		{kindHTTP, "url", !c.HTTP.IsZero()},
		{kindHuman, "expires", !c.Human.IsZero()},
		{kindLLM, "model", !c.Agent.isZero()},
		{kindA2A, "a2a", !c.A2A.IsZero()},
		{kindCommand, "sandbox", !c.Box.isZero()},
		{kindCommand, "command", c.Kind == kindLLM && len(c.Command) > 0},
	} {
		if of.given && c.Kind != of.kind {
			faults = append(faults, events.Fault{Field: of.field, Message: "the keys of kind " + of.kind + " are for that kind alone", Hint: "leave them out, or use kind: " + of.kind})
		}
	}
	if c.Pure && (c.Kind == kindHTTP || c.Kind == kindA2A) && (c.Idempotent == nil || !*c.Idempotent) {
		faults = append(faults, events.Fault{Field: "pure", Message: "a call that is not journaled may be made twice", Hint: "leave pure out, or say that it may be: idempotent: true"})
	}
	return faults
}

func (c *front) card() (events.Card, error) {
	card := events.Card{
		ID: c.ID, Name: c.Name, Description: c.Description, Kind: c.Kind, Pool: c.Pool, Pure: c.Pure, Skills: c.Skills, Tags: c.Tags,
		Examples: c.Examples, Hidden: c.Hidden, Disabled: c.Disabled, Passthrough: c.Passthrough, Concurrency: c.Concurrency, Retries: c.Retries,
	}
	if c.Timeout != nil {
		timeout := events.Duration(*c.Timeout)
		card.Timeout = &timeout
	}
	var err error
	card.OutputSchema, err = c.schema()
	named(&card)
	return card, err
}

// schema is the JSON Schema of the expert's results, nil without one.
func (c *front) schema() (json.RawMessage, error) {
	if c.Schema == nil {
		return nil, nil
	}
	schema, err := json.Marshal(c.Schema)
	if err != nil {
		return nil, fmt.Errorf("output_schema: %w", err)
	}
	return schema, nil
}

// named derives an id from a name, or a name from an id.
func named(card *events.Card) {
	if card.ID == "" {
		card.ID = events.Slug(card.Name)
	}
	if card.Name == "" {
		card.Name = card.ID
	}
	if card.Pool == "" {
		card.Pool = events.DefaultPool
	}
}
