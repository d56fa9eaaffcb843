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

// kindNATS is the one kind of Tool.
const kindNATS = "nats"

// Tool is one entry of tools: a subject, or a service.
type Tool struct {
	// Kind is nats, also when empty.
	Kind string `yaml:"kind"`
	// Subject takes the arguments of calls as JSON, and answers with text or JSON. The entry's name is the tool's.
	Subject string `yaml:"subject"`
	// Service is a NATS micro service in place of a subject: each endpoint is a tool, with the entry's name, __ and its own. The
	// metadata of an endpoint say the rest: description, schema, idempotent, cancel.
	Service string `yaml:"service"`
	// Description tells models what it is for.
	Description string `yaml:"description"`
	// Schema is the JSON Schema of the arguments; any object when there is none.
	Schema map[string]any `yaml:"schema"`
	// Idempotent tools may be called again when it is unknown whether a call took effect. Otherwise a person is asked.
	Idempotent bool `yaml:"idempotent"`
	// Cancel publishes on the subject with .cancel appended for each call that is given up.
	Cancel bool `yaml:"cancel"`
	// Timeout is how long a call may take; 30s when 0.
	Timeout time.Duration `yaml:"timeout"`
}

// named is how tools may be called, so that models take the names.
var named = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Faults are everything that makes tools unusable; field is the path of their section, taken says which names are not free.
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

// literal reports whether a subject can be asked on.
func literal(subject string) bool {
	return !strings.ContainsAny(subject, " \t\r\n*>") && !slices.Contains(strings.Split(subject, "."), "")
}

// anything is the schema of arguments of which nothing is known.
const anything = `{"type":"object"}`

// schema is that of the arguments, checked.
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
