package llm

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Tool is a function that the model may ask to be called.
type Tool struct {
	// Name is what the model calls it: letters, digits, "_" and "-", at most 64.
	Name string `json:"name"`
	// Description tells the model when to use it.
	Description string `json:"description,omitempty"`
	// Parameters is the JSON Schema of the arguments; nil means no arguments.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Strict asks the provider to enforce the schema of the arguments.
	Strict bool `json:"strict,omitempty"`
}

// Values of Request.ToolChoice; any other is the name of the one tool that must be called.
const (
	ToolAuto     = "auto"
	ToolNone     = "none"
	ToolRequired = "required"
)

// Schema requests an answer in a given form.
type Schema struct {
	// Name names the form for the provider: letters, digits, "_" and "-", at most 64.
	Name string `json:"name"`
	// Schema is the JSON Schema. Strict mode wants every property required and additionalProperties false.
	Schema json.RawMessage `json:"schema"`
}

// Request is one call of a model.
type Request struct {
	// Model is a configured name; the default model if empty.
	Model string `json:"model,omitempty"`
	// Messages is the conversation so far. Assistant turns without text and calls are left out.
	Messages []Message `json:"messages"`
	// Tools are what the model may call.
	Tools []Tool `json:"tools,omitempty"`
	// ToolChoice is ToolAuto (also when empty), ToolNone, ToolRequired or a tool's name.
	ToolChoice string `json:"tool_choice,omitempty"`
	// Schema requests structured output. The answer is not validated here.
	Schema *Schema `json:"schema,omitempty"`
	// Temperature is sent if set, even if zero.
	Temperature *float64 `json:"temperature,omitempty"`
	// MaxTokens limits the answer, including reasoning; 0 leaves the limit to the model's configuration.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Stop ends the answer before any of these texts.
	Stop []string `json:"stop,omitempty"`
	// Seed asks for repeatable sampling, if the provider supports it.
	Seed *int `json:"seed,omitempty"`
	// Effort is the reasoning effort: "none", "low", "medium", "high", as far as the provider supports it.
	Effort string `json:"effort,omitempty"`
	// Stream asks for the answer in pieces, which go to the sink. The Response is the same.
	Stream bool `json:"stream,omitempty"`
	// IdempotencyKey is sent to the provider with every attempt.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	// MaxWait limits every wait for the model below its own max_wait, and the wait for a slot. A caller that can try again later
	// sets it and gets an Error with RetryAfter instead of a longer wait, even if the provider has asked another call to wait. 0
	// leaves it to the configuration.
	MaxWait time.Duration `json:"-"`
	// Metadata labels the call; it is sent only to models configured with SendMetadata.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// check returns everything that makes a request invalid, before any money is spent.
func (r Request) check() error {
	var faults events.Faults
	fault := func(field, format string, args ...any) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if len(spoken(r.Messages)) == 0 {
		fault("messages", "there is nothing to answer")
	}
	for i, m := range r.Messages {
		checkMessage(m, fmt.Sprintf("messages[%d]", i), fault)
	}
	names := map[string]bool{"": true, ToolAuto: true, ToolNone: true, ToolRequired: true}
	for i, tool := range r.Tools {
		field := fmt.Sprintf("tools[%d]", i)
		checkForm(tool.Name, tool.Parameters, field, fault)
		if names[tool.Name] {
			fault(field+".name", "%q is given twice or reserved", tool.Name)
		}
		names[tool.Name] = true
	}
	if !names[r.ToolChoice] {
		fault("tool_choice", "%q is no tool of this request", r.ToolChoice)
	}
	if r.Schema != nil {
		checkForm(r.Schema.Name, r.Schema.Schema, "schema", fault)
		if names[r.Schema.Name] {
			fault("schema.name", "%q is the name of a tool or reserved", r.Schema.Name)
		}
	}
	return faults.OrNil()
}

func checkMessage(m Message, field string, fault func(field, format string, args ...any)) {
	switch m.Role {
	case RoleSystem, RoleUser, RoleAssistant:
	case RoleTool:
		if m.CallID == "" {
			fault(field+".call_id", "a tool's result names the call that it answers")
		}
		if m.images() {
			fault(field+".parts", "a tool's result is text")
		}
	default:
		fault(field+".role", "%q is not system, user, assistant or tool", m.Role)
	}
	if len(m.Calls) > 0 && m.Role != RoleAssistant {
		fault(field+".calls", "only an assistant calls tools")
	}
}

func checkForm(name string, schema json.RawMessage, field string, fault func(field, format string, args ...any)) {
	outside := func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, outside) {
		fault(field+".name", "%.80q is not 1 to 64 letters, digits, _ and -", name)
	}
	var object map[string]json.RawMessage
	if schema != nil && json.Unmarshal(schema, &object) != nil {
		fault(field, "the schema is not a JSON object")
	}
}

// estimate estimates the tokens of a prompt from its letters: four Latin letters, or one of any other script, count as a
// token.
func (r Request) estimate() int {
	quarters := 0
	count := func(text string) {
		for _, c := range text {
			quarters++
			if c > 0x2ff {
				quarters += 3
			}
		}
	}
	for _, m := range r.Messages {
		quarters += 16
		for _, part := range m.Parts {
			count(part.Text)
			if part.ImageURL != "" {
				quarters += 4 * imageTokens
			}
		}
		for _, call := range m.Calls {
			count(call.Name)
			count(call.Args)
		}
	}
	for _, tool := range r.Tools {
		quarters += len(tool.Name) + len(tool.Description) + len(tool.Parameters)
	}
	if r.Schema != nil {
		quarters += len(r.Schema.Schema)
	}
	return quarters/4 + 1
}

// imageTokens is the estimate for an image.
const imageTokens = 800
