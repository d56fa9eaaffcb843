package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
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
)

// kinds are those that a card may have, for hints.
const kinds = "command, llm, http, human or nats"

// front is the front matter of a card file.
type front struct {
	ID          string            `yaml:"id"`
	Name        string            `yaml:"name"`
	Description string            `yaml:"description"`
	Kind        string            `yaml:"kind"`
	Command     []string          `yaml:"command"`
	Env         map[string]string `yaml:"env"`
	StdoutLimit int64             `yaml:"stdout_limit"`
	Idempotent  *bool             `yaml:"idempotent"`
	Pool        string            `yaml:"pool"`
	Pure        bool              `yaml:"pure"`
	Skills      []string          `yaml:"skills"`
	Tags        []string          `yaml:"tags"`
	Examples    []string          `yaml:"examples"`
	Hidden      bool              `yaml:"hidden"`
	Disabled    bool              `yaml:"disabled"`
	Passthrough bool              `yaml:"passthrough"`
	Concurrency int               `yaml:"concurrency"`
	Timeout     *time.Duration    `yaml:"timeout"`
	Retries     *int              `yaml:"retries"`
	Schema      map[string]any    `yaml:"output_schema"`
	HTTP        web.Config        `yaml:",inline"`
	Human       person.Config     `yaml:",inline"`
	Agent       agentFront        `yaml:",inline"`
}

// Validate implements host.Validator.
func (c *front) Validate() error {
	var faults host.Faults
	add := func(code events.Code, field, message, hint string) {
		faults = append(faults, host.Fault{Code: code, Field: field, Message: message, Hint: hint})
	}
	if strings.TrimSpace(c.Name) == "" && c.ID == "" {
		add(events.CodeMissing, "name", "an expert needs a name", "name: Design Expert")
	}
	if c.ID != "" && !events.ValidID(c.ID) {
		add(events.CodeInvalid, "id", fmt.Sprintf("%q does not fit", c.ID), "use 1 to 64 of A-Z a-z 0-9 _ -, or leave it out")
	}
	if c.Pool != "" && !events.ValidID(c.Pool) {
		add(events.CodeInvalid, "pool", fmt.Sprintf("%q does not fit", c.Pool), "use 1 to 64 of A-Z a-z 0-9 _ -")
	}
	switch c.Kind {
	case kindCommand:
		if len(c.Command) == 0 {
			add(events.CodeMissing, "command", "a command expert needs its program", `command: ["./program", "argument"]`)
		}
	case kindNATS:
		if len(c.Command) > 0 {
			add(events.CodeInvalid, "command", "an expert of kind nats runs elsewhere", "leave it out, or use kind: command")
		}
		if c.Pool == "" || c.Pool == events.DefaultPool {
			add(events.CodeMissing, "pool", "an expert of kind nats needs a pool of its own", "pool: "+events.Slug(c.Name))
		}
	case kindHTTP:
		for _, f := range c.HTTP.Faults() {
			add(f.Code, f.Field, f.Message, f.Hint)
		}
	case kindLLM:
		for _, f := range c.Agent.faults(c.schema()) {
			add(f.Code, f.Field, f.Message, f.Hint)
		}
	case kindHuman:
	case "":
		add(events.CodeMissing, "kind", "no kind", "use "+kinds)
	default:
		add(events.CodeInvalid, "kind", fmt.Sprintf("unknown kind %q", c.Kind), "use "+kinds)
	}
	for _, misplaced := range c.misplaced() {
		add(events.CodeInvalid, misplaced.Field, misplaced.Message, misplaced.Hint)
	}
	for _, limit := range []struct {
		field string
		bad   bool
	}{
		{"stdout_limit", c.StdoutLimit < 0},
		{"concurrency", c.Concurrency < 0},
		{"timeout", c.Timeout != nil && *c.Timeout < 0},
		{"retries", c.Retries != nil && *c.Retries < 0},
	} {
		if limit.bad {
			add(events.CodeInvalid, limit.field, "must not be negative", "")
		}
	}
	return faults.Err()
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
		{kindCommand, "command", c.Kind == kindLLM && len(c.Command) > 0},
	} {
		if of.given && c.Kind != of.kind {
			faults = append(faults, events.Fault{Field: of.field, Message: "the keys of kind " + of.kind + " are for that kind alone", Hint: "leave them out, or use kind: " + of.kind})
		}
	}
	if c.Pure && c.Kind == kindHTTP && (c.Idempotent == nil || !*c.Idempotent) {
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

// cardFile is one card as read.
type cardFile struct {
	front
	card events.Card
	path string
	// body is the text below the front matter.
	body string
}

// readCards reads card files and folders of them. All faults are reported together.
func readCards(paths []string, env host.Env) ([]cardFile, error) {
	var faults host.Faults
	var cards []cardFile
	for _, path := range cardPaths(paths, &faults) {
		c := cardFile{path: path}
		var err error
		if c.body, err = host.ReadFrontMatter(path, env, &c.front); err != nil {
			faults = append(faults, asFaults(path, err)...)
			continue
		}
		card, err := c.front.card()
		if err != nil {
			faults = append(faults, asFaults(path, err)...)
			continue
		}
		c.card = card
		cards = append(cards, c)
	}
	return cards, faults.Err()
}

func cardPaths(paths []string, faults *host.Faults) []string {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			*faults = append(*faults, host.Fault{Code: host.CodeUnreadable, File: path, Message: "no such card", Cause: cause(err), Hint: "give a card file, or a folder of *.md"})
		case info.IsDir():
			found, _ := filepath.Glob(filepath.Join(escapeGlob(path), "*.md")) // The pattern is well-formed.
			if len(found) == 0 {
				*faults = append(*faults, host.Fault{Code: events.CodeNotFound, File: path, Message: "no cards in this folder", Hint: "cards are files *.md"})
			}
			files = append(files, found...)
		default:
			files = append(files, path)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func cause(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

func asFaults(path string, err error) host.Faults {
	var list host.Faults
	if errors.As(err, &list) {
		return list
	}
	return host.Faults{{Code: events.CodeInvalid, File: path, Message: err.Error()}}
}
