package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/policy"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// AskPerson is the name of the tool that asks a person; the run waits for the answer without holding anything.
const AskPerson = "ask_person"

// Planning is the name of the tool that keeps plans.
const Planning = "planning"

// Toolbox gives tools that live outside of the runner.
type Toolbox interface {
	// Owns reports whether a name on a card, or a pattern of names, is about its tools.
	Owns(pattern string) bool
	// Open gives the tools that names and patterns are about; an error is an *events.Fault, or the context's.
	Open(ctx context.Context, patterns []string) ([]tool.Tool, error)
}

// Config says how an agent works.
type Config struct {
	// ID is the expert's, as policies and people know it.
	ID string
	// Gate judges every call of a tool; Unattended denies what a person would have to approve of.
	Gate       policy.Gate
	Unattended bool
	// Client asks models, Model is the configured name; empty for the default one.
	Client llm.Client
	Model  string
	// Mode is who speaks in its conversations; Advisor the configured model of those who only advise, empty for Model.
	Mode    conversation.Mode
	Advisor string
	// Workflow are the steps of its work, each a conversation; none is one conversation about all of it.
	Workflow []Step
	// Evaluator judges what it gives.
	Evaluator Evaluator
	// Prompt are the expert's instructions.
	Prompt string
	// Tools are the names of the tools that it may use, or patterns of names of tools in a Toolbox; Required are those that it has
	// to use before its answer counts.
	Tools, Required []string
	// Toolboxes have the tools that are none of the runner's.
	Toolboxes []Toolbox
	// Planner gives the tool Planning to the agents of a job; nil where it is not used.
	Planner func(job string) tool.Tool
	// MaxTurns, MaxTokens and MaxTime are its budget; 0 is conversation.DefaultTurns, and no limit.
	MaxTurns  int
	MaxTokens int64
	MaxTime   time.Duration
	// Patience is how long in all a SubJob may wait for a model that has no room; DefaultPatience when 0.
	Patience time.Duration
	// Summary lets a run whose budget is used up end with a summary that is marked as one.
	Summary bool
	// Observation is how much of a tool's answer the model sees in bytes, Context the size of the conversation in tokens at
	// which old ones are compressed; 0 for the defaults of package conversation.
	Observation, Context int
	// Schema is the JSON Schema of its results, nil for any; a SubJob's own comes first.
	Schema json.RawMessage
	// Allow are ranges of addresses that fetch may reach although they are not public.
	Allow []netip.Prefix
	// Workspaces is where workspaces are made; KeepFailed leaves those of runs that did not succeed.
	Workspaces string
	KeepFailed bool
	// Artifacts are patterns of files in the workspace that a SUCCESS hands on; none when empty.
	Artifacts []string
	// Called is told of each call of a tool that is there, from any goroutine; nil disables it. The outcome is "ok" or "error" of
	// one that was made, "unknown" when the outcome is unknown, "denied" and "rejected" of one that was not.
	Called func(tool, outcome string)
}

// ToolNames lists every tool that an agent can have.
func ToolNames() []string {
	names := append(tool.Names(), AskPerson, Planning, conversation.Terminate)
	slices.Sort(names)
	return names
}

// boxOf finds the toolbox that a name, or a pattern, is about; nil when it is a tool of the runner, or none.
func (c *Config) boxOf(pattern string) Toolbox {
	for _, box := range c.Toolboxes {
		if !slices.Contains(ToolNames(), pattern) && box.Owns(pattern) {
			return box
		}
	}
	return nil
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
		case !slices.Contains(known, name) && c.boxOf(name) == nil:
			fault("tools", "use "+strings.Join(known, ", ")+", or tools of mcpServers and tools of the configuration", "there is no tool %q", name)
		case slices.Contains(c.Tools[:i], name):
			fault("tools", "", "tool %q is named twice", name)
		}
	}
	for _, name := range c.Required {
		if !slices.ContainsFunc(c.Tools, func(pattern string) bool { return policy.Matches(pattern, name) }) || name == conversation.Terminate {
			fault("required_tools", "name it under tools, too", "required tool %q is none of its tools", name)
		}
	}
	faults = append(faults, c.stepFaults()...)
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
		{"patience", int64(c.Patience)},
		{"observation_limit", int64(c.Observation)},
		{"context_limit", int64(c.Context)},
	} {
		if limit.value < 0 {
			fault(limit.field, "", "must not be negative")
		}
	}
	return faults
}
