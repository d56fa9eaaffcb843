package a2a

import (
	"fmt"
	"net/textproto"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// Mode is how an agent is heard.
type Mode string

// The modes. The empty one streams if the agent's card says that it can, and else polls.
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

// Config is what an expert's card says of its agent, below a2a.
type Config struct {
	// Agent is where the agent is, or its card: /.well-known/agent-card.json is looked for below it, and agent.json after that.
	Agent string `yaml:"agent"`
	// Card is the agent's card itself, or the name of a file with it. One of Agent and Card is needed.
	Card any `yaml:"card"`
	// Headers are sent along to the host of Agent, or to those of a Card that is given here.
	Headers map[string]string `yaml:"headers"`
	// Metadata is sent with every message, beside our own.
	Metadata map[string]any `yaml:"metadata"`
	// Mode is how the agent is heard.
	Mode Mode `yaml:"mode"`
	// PushURL is where agents reach this runner's HTTP address from outside; for mode push alone.
	PushURL string `yaml:"push_url"`
	// AnswerTimeout is how long the agent may take for the first answer to a message, or be silent on a stream before it is asked.
	AnswerTimeout time.Duration `yaml:"answer_timeout"`
	// MaxTime bounds one message with everything that follows from it.
	MaxTime time.Duration `yaml:"max_time"`
	// PollInterval is the longest wait between two looks at a task.
	PollInterval time.Duration `yaml:"poll_interval"`
	// MaxEvents bounds how much the agent may tell during one run.
	MaxEvents int `yaml:"max_events"`
	// MaxBytes bounds how large all of that may be.
	MaxBytes int64 `yaml:"max_bytes"`
	// AllowAddresses are addresses, or ranges, that a fetched card may lead to although they are not public.
	AllowAddresses []string `yaml:"allow_addresses"`

	// Safe is true when the agent knows a message by its id, so that it may be sent again when it is unknown whether it arrived.
	Safe bool `yaml:"-"`
	// Schema is the JSON Schema of results, nil for any.
	Schema []byte `yaml:"-"`
	// Receiver takes the notifications of mode push.
	Receiver *Receiver `yaml:"-"`
	// Secrets are taken out of everything that the agent says; nil holds none.
	Secrets *redact.Set `yaml:"-"`
}

// IsZero reports whether a card says nothing of an agent.
func (c *Config) IsZero() bool { return reflect.ValueOf(*c).IsZero() }

// Faults are everything that is wrong with it; the fields are the keys of the card.
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
	if _, err := tool.Ranges(c.AllowAddresses); err != nil {
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

// badAddress says what is wrong with an address, without repeating it: it may hold a secret.
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

// complete fills in the defaults.
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
