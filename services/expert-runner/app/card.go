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
)

// cardSpec is the front matter of a card file, and a card in the configuration.
type cardSpec struct {
	// ID is the token in subjects; derived from the name if omitted.
	ID string `yaml:"id"`
	// Name is for people and for plans.
	Name string `yaml:"name"`
	// Description says what the expert does well.
	Description string `yaml:"description"`
	// Kind is command, llm, http, a2a, human or nats.
	Kind string `yaml:"kind"`
	// Command is the program and its arguments, of kind command. A relative path starts at the folder of the file.
	Command []string `yaml:"command"`
	// Env is added to the clean environment of the program.
	Env map[string]string `yaml:"env"`
	// StdoutLimit limits the result that the program may print, in bytes.
	StdoutLimit int64 `yaml:"stdout_limit"`
	// Artifacts are patterns of workspace files that a SUCCESS passes on, out/** if omitted; for kinds command and llm.
	Artifacts []string `yaml:"artifacts"`
	// Idempotent says whether an interrupted run may be repeated.
	Idempotent *bool `yaml:"idempotent"`
	// Pool is the runner pool that serves the expert; default if omitted.
	Pool string `yaml:"pool"`
	// PoolConcurrency limits the concurrent runs of the pool over all of its workers; 0 removes the limit, omitting it leaves the
	// limit unchanged.
	PoolConcurrency *int `yaml:"pool_concurrency"`
	// Pure experts have no effects: their runs are at-least-once, and the first report wins.
	Pure bool `yaml:"pure"`
	// Skills say what the expert can do; planners select experts by them.
	Skills []string `yaml:"skills"`
	// Tags help to select the expert; the tag default marks the expert of steps that name none.
	Tags []string `yaml:"tags"`
	// Examples are typical requests, as people write them.
	Examples []string `yaml:"examples"`
	// Languages are the languages that it knows, BCP 47 tags or English names; any if omitted.
	Languages []string `yaml:"languages"`
	// Share lists which of session, thread and user an expert of kind http or a2a gets; none if omitted.
	Share []string `yaml:"share"`
	// Hidden experts are never planned, only used when named explicitly.
	Hidden bool `yaml:"hidden"`
	// Disabled experts get no work.
	Disabled bool `yaml:"disabled"`
	// Passthrough experts take a whole goal as one SubJob.
	Passthrough bool `yaml:"passthrough"`
	// Concurrency limits the concurrent runs on one runner; 0 means the runner's limit.
	Concurrency int `yaml:"concurrency"`
	// Timeout limits each run of a SubJob that sets no timeout itself.
	Timeout *time.Duration `yaml:"timeout"`
	// Retries is how often a SubJob is tried again that sets no number itself.
	Retries *int `yaml:"retries"`
	// History is how much of the session's history its runs get, in bytes of text; 0 for nothing.
	History *int `yaml:"history"`
	// Schema is the JSON Schema of its results.
	Schema map[string]any `yaml:"output_schema"`
	// Reconcile is the hook that knows whether an effect with an unknown outcome took place.
	Reconcile hookSpec `yaml:"reconcile"`

	Kinds kinds `yaml:",inline"`
}

// maxCardName is the maximum length of an expert's name, in characters.
const maxCardName = 200

// nameable reports whether a name fits on a line for people and in a prompt.
func nameable(name string) bool {
	return utf8.RuneCountInString(name) <= maxCardName && !strings.ContainsFunc(name, unicode.IsControl)
}

// checkNames checks the names of the expert and its pool.
func (c *cardSpec) checkNames(add func(code events.Code, field, message, hint string)) {
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
func (c *cardSpec) Validate() error {
	var faults host.Faults
	add := func(code events.Code, field, message, hint string) {
		faults = append(faults, host.Fault{Code: code, Field: field, Message: message, Hint: hint})
	}
	c.checkNames(add)
	switch kind := c.kind(); {
	case kind != nil:
		for _, f := range slices.Concat(kind.faults(c), c.misplaced(), c.Reconcile.faults(c), c.artifactFaults()) {
			add(f.Code, f.Field, f.Message, f.Hint)
		}
	case c.Kind == "":
		add(events.CodeMissing, "kind", "no kind", nearKinds(""))
	default:
		add(events.CodeInvalid, "kind", fmt.Sprintf("unknown kind %q", c.Kind), nearKinds(c.Kind))
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
		{"history", c.History != nil && *c.History < 0},
	} {
		if limit.bad {
			add(events.CodeInvalid, limit.field, "must not be negative", "")
		}
	}
	return faults.Err()
}

func (c *cardSpec) card() (events.Card, error) {
	card := events.Card{
		ID: c.ID, Name: c.Name, Description: c.Description, Kind: c.Kind, Pool: c.Pool, Pure: c.Pure, Skills: c.Skills, Tags: c.Tags,
		Examples: c.Examples, Languages: c.Languages, Hidden: c.Hidden, Disabled: c.Disabled, Passthrough: c.Passthrough, Concurrency: c.Concurrency, Retries: c.Retries,
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
func (c *cardSpec) schema() (json.RawMessage, error) {
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
