package agent

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/turn"
)

// AskPerson is the name of the tool that asks a person; the run waits for the answer without holding anything.
const AskPerson = "ask_person"

// Config says how an agent works.
type Config struct {
	// Client asks models, Model is the configured name; empty for the default one.
	Client llm.Client
	Model  string
	// Prompt are the expert's instructions.
	Prompt string
	// Tools are the names of the tools that it may use, Required those that it has to use before its answer counts.
	Tools, Required []string
	// MaxTurns, MaxTokens and MaxTime are its budget; 0 is turn.DefaultTurns, and no limit.
	MaxTurns  int
	MaxTokens int64
	MaxTime   time.Duration
	// Summary lets a run whose budget is used up end with a summary that is marked as one.
	Summary bool
	// Observation is how much of a tool's answer the model sees in bytes, Context the size of the conversation in tokens at
	// which old ones are compressed; 0 for the defaults of package turn.
	Observation, Context int
	// Schema is the JSON Schema of its results, nil for any; a SubJob's own comes first.
	Schema json.RawMessage
	// Allow are ranges of addresses that fetch may reach although they are not public.
	Allow []netip.Prefix
	// Workspaces is where workspaces are made; KeepFailed leaves those of runs that did not succeed.
	Workspaces string
	KeepFailed bool
	// Called is told of each call of a tool that was made, from any goroutine; nobody when nil. The outcome is "ok" or "error".
	Called func(tool, outcome string)
}

// ToolNames lists every tool that an agent can have.
func ToolNames() []string {
	names := append(tool.Names(), AskPerson, turn.Terminate)
	slices.Sort(names)
	return names
}

// Faults are everything that makes a configuration unusable; the fields are the keys of the card.
func (c *Config) Faults() events.Faults {
	var faults events.Faults
	fault := func(field, hint, format string, args ...any) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: field, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	known := ToolNames()
	for i, name := range c.Tools {
		switch {
		case !slices.Contains(known, name):
			fault("tools", "use "+strings.Join(known, ", "), "there is no tool %q", name)
		case slices.Contains(c.Tools[:i], name):
			fault("tools", "", "tool %q is named twice", name)
		}
	}
	for _, name := range c.Required {
		if !slices.Contains(c.Tools, name) || name == turn.Terminate {
			fault("required_tools", "name it under tools, too", "required tool %q is none of its tools", name)
		}
	}
	if _, err := newForm(c.Schema); err != nil {
		fault("output_schema", "", "%s", err)
	}
	if c.Summary && c.Schema != nil {
		fault("on_budget", "leave it out", "a summary does not fit output_schema")
	}
	for _, limit := range []struct {
		field string
		value int64
	}{
		{"max_turns", int64(c.MaxTurns)},
		{"max_tokens", c.MaxTokens},
		{"max_time", int64(c.MaxTime)},
		{"observation_limit", int64(c.Observation)},
		{"context_limit", int64(c.Context)},
	} {
		if limit.value < 0 {
			fault(limit.field, "", "must not be negative")
		}
	}
	return faults
}
