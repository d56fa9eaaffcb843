package served

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/schema"
)

// DefaultTimeout is how long a call may take.
const DefaultTimeout = 30 * time.Second

// kindNATS is the only kind of Tool.
const kindNATS = "nats"

// Tool is one entry of tools: a subject, or a service.
type Tool struct {
	// Kind is nats, also when empty.
	Kind string `yaml:"kind"`
	// Subject takes the arguments of calls as JSON, and answers with text or JSON. The entry's name is the tool's.
	Subject string `yaml:"subject"`
	// Service is a NATS micro service instead of a subject: each endpoint is a tool, named entry__endpoint. The metadata of an
	// endpoint describe it: description, schema, idempotent, cancel.
	Service string `yaml:"service"`
	// Description tells models what it is for.
	Description string `yaml:"description"`
	// Schema is the JSON Schema of the arguments; any object by default.
	Schema map[string]any `yaml:"schema"`
	// Idempotent tools may be called again if the outcome of a call is unknown. Otherwise a person is asked.
	Idempotent bool `yaml:"idempotent"`
	// Cancel publishes a message on the subject plus .cancel for each cancelled call.
	Cancel bool `yaml:"cancel"`
	// Timeout is how long a call may take; 30s if 0.
	Timeout time.Duration `yaml:"timeout"`
}

// named is the form of tool names that all models accept.
var named = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Faults are everything that makes tools unusable; field is the path of their section, taken reports names that are in use.
func Faults(field string, tools map[string]Tool, taken func(name string) bool) events.Faults {
	var faults events.Faults
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		t := tools[name]
		fault := func(key, hint, format string, args ...any) {
			faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: strings.TrimSuffix(field+"."+name+"."+key, "."), Message: fmt.Sprintf(format, args...), Hint: hint})
		}
		if !named.MatchString(name) {
			fault("", "use 1 to 64 of A-Z a-z 0-9 _ -", "%.80q cannot be the name of a tool", name)
		}
		if taken(name) {
			fault("", "rename it", "there is another tool %q", name)
		}
		if t.Kind != "" && t.Kind != kindNATS {
			fault("kind", "use nats", "unknown kind %q", t.Kind)
		}
		if (t.Subject == "") == (t.Service == "") {
			fault("subject", "give one of subject and service", "a tool is a subject or a service")
		}
		if t.Subject != "" && !literal(t.Subject) {
			fault("subject", "subject: tools.weather", "%.80q is no subject to ask on", t.Subject)
		}
		if t.Service != "" && !named.MatchString(t.Service) {
			fault("service", "", "%.80q is no name of a service", t.Service)
		}
		if t.Service != "" && (t.Schema != nil || t.Description != "" || t.Idempotent || t.Cancel) {
			fault("service", "leave them out", "the endpoints of a service say themselves what they are")
		}
		if _, err := t.schema(); err != nil {
			fault("schema", "", "%s", err)
		}
		if t.Timeout < 0 {
			fault("timeout", "", "must not be negative")
		}
	}
	return faults
}

// literal reports whether a subject can receive requests.
func literal(subject string) bool {
	return !strings.ContainsAny(subject, " \t\r\n*>") && !slices.Contains(strings.Split(subject, "."), "")
}

// anything is the schema of unknown arguments.
const anything = `{"type":"object"}`

// schema returns the checked schema of the arguments.
func (t *Tool) schema() (json.RawMessage, error) {
	if t.Schema == nil {
		return json.RawMessage(anything), nil
	}
	raw, err := json.Marshal(t.Schema)
	if err != nil {
		return nil, fmt.Errorf("is no JSON: %w", err)
	}
	_, err = schema.Read(raw)
	return raw, err
}
