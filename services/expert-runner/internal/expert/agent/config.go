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
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/events/toolset"
	"github.com/jobgraph/jobgraph/pkg/llm"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/conversation"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/policy"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/program"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/search"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// AskPerson is the name of the tool that asks a person; the run is parked until the answer.
const AskPerson = "ask_person"

// Planning is the name of the tool for plan documents.
const Planning = "planning"

// Toolbox provides tools that are not the runner's own.
type Toolbox interface {
	// Owns reports whether a name or pattern on a card refers to its tools.
	Owns(pattern string) bool
	// Open returns the tools that names and patterns refer to; an error is an *events.Fault, or the context's.
	Open(ctx context.Context, patterns []string) ([]tool.Tool, error)
}

// Workbench provides tools whose programs run in the workspace of a run.
type Workbench interface {
	// Owns reports whether a name or pattern on a card refers to its tools.
	Owns(pattern string) bool
	// At is the toolbox of one run with a workspace; closing ends its programs.
	At(ctx context.Context, t *expert.Task, dir string) (box Toolbox, closing func())
}

// Config configures an agent.
type Config struct {
	// ID is the expert's id, for policies and people.
	ID string
	// Gate decides about every tool call; Unattended denies calls that would need a person's approval.
	Gate       policy.Gate
	Unattended bool
	// Client calls models; Model is the configured name, empty for the default one.
	Client llm.Client
	Model  string
	// Mode is the set of roles in its conversations. Advisor is the configured model of advising roles, Model's if empty.
	Mode    conversation.Mode
	Advisor string
	// Workflow lists the steps of its work, each a conversation; without steps there is one conversation about all of it.
	Workflow []Step
	// Evaluator says whether a model judges its results, and which one.
	Evaluator Evaluator
	// Prompt contains the expert's instructions.
	Prompt string
	// Tools are the names of its tools, or patterns of names in a Toolbox. Required are the tools that it must use before its
	// answer counts.
	Tools, Required []string
	// Programs runs programs for the tool Run; nil if it is not offered.
	Programs *program.Runner
	// Search searches the web for the tool SearchWeb; nil if it is not offered.
	Search *search.Client
	// Knowledge names the bases of knowledge whose best passages begin its conversations; nil means bases.Default, an empty list none.
	// Retriever is a tool of a toolbox that finds the passages instead.
	Knowledge []string
	Retriever string
	// Memory says what is remembered of users.
	Memory Memory
	// Toolboxes provide the tools that are not the runner's own.
	Toolboxes []Toolbox
	// Lender lends tools of servers to requests; needed only for requests that name one.
	Lender Lender
	// Workbench provides the tools that work in the workspace; nil if it has none but the runner's own.
	Workbench Workbench
	// Planner returns the tool Planning for an agent with this work; nil if unused.
	Planner func(w *events.Work) tool.Tool
	// MaxTurns, MaxTokens and MaxTime are its budget; 0 means conversation.DefaultTurns, or no limit.
	MaxTurns  int
	MaxTokens int64
	MaxTime   time.Duration
	// Patience is how long a SubJob may wait in total for a model without capacity; DefaultPatience if 0.
	Patience time.Duration
	// Summary lets a run whose budget is used up end with a summary that is marked as such.
	Summary bool
	// Observation limits the bytes of a tool's result that the model sees. Context is the size of the conversation in
	// tokens at which old results are compressed. 0 means the defaults of package conversation.
	Observation, Context int
	// Schema is the JSON Schema of its results, nil for any; a SubJob's own takes precedence.
	Schema json.RawMessage
	// Allow are non-public address ranges that fetch may reach.
	Allow []netip.Prefix
	// Workspaces is the folder for workspaces; KeepFailed keeps those of unsuccessful runs.
	Workspaces string
	KeepFailed bool
	// Artifacts are patterns of files in the workspace that a SUCCESS delivers; none if empty.
	Artifacts []string
	// Called is notified of each call of an existing tool, from any goroutine; may be nil. The outcome of an executed call
	// is "ok", "error" or "unknown"; calls that were not executed are "denied" or "rejected".
	Called func(tool, outcome string)
	// Trusted is notified of JSON that was read out of a model's text, from any goroutine; may be nil. use is "tool",
	// "deliverable" or "evaluation", trust "unchanged", "repaired", "guess" or "none".
	Trusted func(use, trust string)

	limits toolset.Change // What the request of a run allows.
}

// ToolNames lists the runner's own tools for agents.
func ToolNames() []string {
	names := append(tool.Names(), AskPerson, Planning, conversation.Terminate)
	slices.Sort(names)
	return names
}

// benched reports whether a name or pattern refers to tools of the workbench.
func (c *Config) benched(pattern string) bool { return c.Workbench != nil && c.Workbench.Owns(pattern) }

// needsWorkspace reports whether any of its tools works on files.
func (c *Config) needsWorkspace() bool {
	return tool.NeedsWorkspace(c.Tools) || slices.ContainsFunc(c.Tools, c.benched)
}

// boxOf returns the toolbox that a name or pattern refers to; nil if it is a tool of the runner, or unknown.
func (c *Config) boxOf(pattern string) Toolbox {
	for _, box := range c.Toolboxes {
		if !slices.Contains(ToolNames(), pattern) && box.Owns(pattern) {
			return box
		}
	}
	return nil
}

// Faults lists everything that makes a configuration unusable; the fields are the keys of the card.
func (c *Config) Faults() events.Faults {
	var faults events.Faults
	fault := func(field, hint, format string, args ...any) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: field, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	known := ToolNames()
	for i, name := range c.Tools {
		switch {
		case !slices.Contains(known, name) && !c.benched(name) && c.boxOf(name) == nil:
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
	faults = append(append(faults, c.stepFaults()...), bases.Faults("knowledge", c.Knowledge)...)
	if c.Retriever != "" && c.boxOf(c.Retriever) == nil {
		fault("retriever", "use a tool of mcpServers or tools of the configuration", "there is no tool %q to retrieve with", c.Retriever)
	}
	if c.Memory == NoMemory && slices.Contains(c.Tools, tool.Remember) {
		fault("memory", "leave out the tool, or memory: false", "the tool %s needs a memory", tool.Remember)
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
