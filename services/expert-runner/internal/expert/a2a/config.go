package a2a

import (
	"fmt"
	"net/textproto"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/egress"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Mode is how an agent's progress is received.
type Mode string

// The modes. The empty one streams if the agent's card allows it, else it polls.
const (
	ModeStream Mode = "stream"
	ModePoll   Mode = "poll"
	ModePush   Mode = "push"
)

// Defaults of a Config.
const (
	DefaultAnswerTimeout = 2 * time.Minute
	DefaultMaxTime       = 30 * time.Minute
	DefaultPollInterval  = 5 * time.Second
	DefaultMaxEvents     = 20_000
	DefaultMaxBytes      = 64 << 20
)

// Config is the key a2a of an expert's card.
type Config struct {
	// Agent is the address of the agent or of its card: /.well-known/agent-card.json is looked up below it, then
	// agent.json.
	Agent string `yaml:"agent"`
	// Card is the agent's card itself, or the name of a file with it. Either Agent or Card is required.
	Card any `yaml:"card"`
	// Headers are sent to the host of Agent, or to the hosts of a Card that is configured here.
	Headers map[string]string `yaml:"headers"`
	// Metadata is sent with every message, besides our own.
	Metadata map[string]any `yaml:"metadata"`
	// Mode is how the agent's progress is received.
	Mode Mode `yaml:"mode"`
	// PushURL is the external address of this runner's HTTP endpoint, for mode push only.
	PushURL string `yaml:"push_url"`
	// AnswerTimeout limits the time to the agent's first answer to a message, and the silence on a stream before the agent
	// is asked.
	AnswerTimeout time.Duration `yaml:"answer_timeout"`
	// MaxTime limits one message with everything that follows from it.
	MaxTime time.Duration `yaml:"max_time"`
	// PollInterval is the longest pause between two queries of a task.
	PollInterval time.Duration `yaml:"poll_interval"`
	// MaxEvents limits the number of the agent's events during one run.
	MaxEvents int `yaml:"max_events"`
	// MaxBytes limits their total size.
	MaxBytes int64 `yaml:"max_bytes"`
	// AllowAddresses are non-public addresses or ranges that a fetched card may lead to.
	AllowAddresses []string `yaml:"allow_addresses"`

	// Safe is true if the agent recognises a message by its id, so that it may be sent again if its arrival is unknown.
	Safe bool `yaml:"-"`
	// Schema is the JSON Schema of results, nil for any.
	Schema []byte `yaml:"-"`
	// Share lists which of session, thread and user the agent gets.
	Share []string `yaml:"-"`
	// Receiver receives the notifications of mode push.
	Receiver *Receiver `yaml:"-"`
	// Secrets are removed from everything that the agent says; may be nil.
	Secrets *redact.Set `yaml:"-"`
}

// IsZero reports whether the card has no settings of this kind.
func (c *Config) IsZero() bool { return reflect.ValueOf(*c).IsZero() }

// Faults lists everything that is wrong; the fields are the keys of the card.
func (c *Config) Faults() events.Faults {
	var faults events.Faults
	add := func(field, message, hint string) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: field, Message: message, Hint: hint})
	}
	switch {
	case c.Agent == "" && c.Card == nil:
		faults = append(faults, events.Fault{Code: events.CodeMissing, Field: "agent", Message: "an a2a expert needs its agent", Hint: "agent: https://agents.example.com, or card: agent-card.json"})
	case c.Agent != "" && c.Card != nil:
		add("card", "agent and card are both given", "leave one of them out")
	case c.Agent != "":
		if why := badAddress(c.Agent); why != "" {
			add("agent", why, "agent: https://agents.example.com")
		}
	}
	for name, value := range c.Headers { // any order: faults are sorted below.
		if name == "" || textproto.TrimString(name) != name || strings.ContainsAny(name, " :\r\n\x00") || strings.ContainsAny(value, "\r\n\x00") {
			add("headers."+name, "is no header", "a name has letters, digits and -, a value is one line")
		}
	}
	if !slices.Contains([]Mode{"", ModeStream, ModePoll, ModePush}, c.Mode) {
		add("mode", fmt.Sprintf("unknown mode %q", c.Mode), "use stream, poll or push, or leave it out")
	}
	switch {
	case c.Mode == ModePush && c.PushURL == "":
		add("push_url", "mode push needs the address at which agents reach this runner", "push_url: https://runner.example.com")
	case c.Mode != ModePush && c.PushURL != "":
		add("push_url", "is for mode push alone", "mode: push")
	case c.PushURL != "":
		if why := badAddress(c.PushURL); why != "" {
			add("push_url", why, "push_url: https://runner.example.com")
		}
	}
	if _, err := egress.Ranges(c.AllowAddresses); err != nil {
		add("allow_addresses", err.Error(), "use addresses such as 127.0.0.1, or ranges such as 10.0.0.0/8")
	}
	faults = append(faults, c.negative()...)
	slices.SortFunc(faults, func(a, b events.Fault) int { return strings.Compare(a.Field, b.Field) })
	return faults
}

func (c *Config) negative() events.Faults {
	var faults events.Faults
	for _, limit := range []struct {
		field string
		bad   bool
	}{
		{"answer_timeout", c.AnswerTimeout < 0},
		{"max_time", c.MaxTime < 0},
		{"poll_interval", c.PollInterval < 0},
		{"max_events", c.MaxEvents < 0},
		{"max_bytes", c.MaxBytes < 0},
	} {
		if limit.bad {
			faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: limit.field, Message: "must not be negative"})
		}
	}
	return faults
}

// badAddress says what is wrong with an address without repeating it, since it may contain a secret.
func badAddress(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "is no URL"
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "has to begin with http:// or https:// and a host"
	case u.User != nil:
		return "has a user in it: send a header Authorization"
	case u.Fragment != "" || u.RawQuery != "":
		return "has a query or a fragment"
	}
	return ""
}

// complete sets the defaults.
func (c Config) complete() Config {
	if c.AnswerTimeout == 0 {
		c.AnswerTimeout = DefaultAnswerTimeout
	}
	if c.MaxTime == 0 {
		c.MaxTime = DefaultMaxTime
	}
	if c.PollInterval == 0 {
		c.PollInterval = DefaultPollInterval
	}
	if c.MaxEvents == 0 {
		c.MaxEvents = DefaultMaxEvents
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	return c
}
