package llm

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// DefaultModel is the configured name that is meant when a request names none.
const DefaultModel = "default"

// Config is the configured models by name: the key `models` of jobgraph.yaml.
type Config map[string]ModelConfig

// ModelConfig is one model at one provider.
type ModelConfig struct {
	// Model is the name that the provider knows; the configured name when empty.
	Model string `yaml:"model"`
	// BaseURL is where the API is, up to and including /v1; OpenAI's when empty.
	BaseURL string `yaml:"base_url"`
	// Key is sent as bearer token; providers on the own machine need none.
	Key Secret `yaml:"key"`
	// API is "chat", "responses", or "auto" (also when empty): chat, until the provider wants Responses.
	API string `yaml:"api"`
	// Structured is the rung to begin with when structured output is asked for, json_schema when empty.
	Structured Rung `yaml:"structured"`
	// Temperature is used by requests that set none; the provider's own when nil.
	Temperature *float64 `yaml:"temperature"`
	// MaxTokens limits answers to requests that set no limit; 0 leaves it to the provider.
	MaxTokens int `yaml:"max_tokens"`
	// Effort is used by requests that set none.
	Effort string `yaml:"effort"`
	// OpenThink says that the provider's template opens <think> itself, so that answers begin inside of it.
	OpenThink bool `yaml:"open_think"`
	// Stream is false for a provider whose streams cannot be relied on: every answer is asked for in one piece. True when nil.
	Stream *bool `yaml:"stream"`
	// SendMetadata sends Request.Metadata.
	SendMetadata bool `yaml:"send_metadata"`
	// Headers are sent with every request.
	Headers map[string]string `yaml:"headers"`
	// Extra are fields of the request's body that this package does not know.
	Extra map[string]any `yaml:"extra"`
	// Timeout bounds one attempt, the whole stream included; 10m when 0.
	Timeout time.Duration `yaml:"timeout"`
	// Idle bounds the silence before and within an answer that is streamed; 2m when 0.
	Idle time.Duration `yaml:"idle"`
	// Retries is how often a failed attempt is repeated; 3 when nil.
	Retries *int `yaml:"retries"`
	// MaxWait is the longest pause before a retry; a provider that asks for more fails the call at once. 30s when 0.
	MaxWait time.Duration `yaml:"max_wait"`
	// Limits keep calls under what the provider allows.
	Limits RateLimits `yaml:"limits"`
	// Price is used when the provider does not state the cost of a call.
	Price *Price `yaml:"price"`
	// Fallback names the models to try next, in order.
	Fallback []string `yaml:"fallback"`
	// FallbackOn lists the classes of failure that fall through; DefaultFallbackOn when empty.
	FallbackOn []Class `yaml:"fallback_on"`
}

// RateLimits are the limits of one model; zero means unlimited.
type RateLimits struct {
	// Concurrency is how many requests may be under way.
	Concurrency int `yaml:"concurrency"`
	// RequestsPerMinute counts attempts.
	RequestsPerMinute int `yaml:"requests_per_minute"`
	// TokensPerMinute counts the prompt by estimate before a request, and the rest as billed after it.
	TokensPerMinute int `yaml:"tokens_per_minute"`
}

// Price is what a million tokens cost, in US dollars.
type Price struct {
	// Prompt is for tokens read.
	Prompt float64 `yaml:"prompt"`
	// Cached is for tokens read from the provider's cache; Prompt when nil.
	Cached *float64 `yaml:"cached"`
	// Completion is for tokens written, reasoning included.
	Completion float64 `yaml:"completion"`
}

// DefaultFallbackOn is what falls through to the next model: failures of the provider, not of the question. A prompt that is
// too long falls through as well, since another model may have room for it.
func DefaultFallbackOn() []Class {
	return []Class{RateLimited, Overloaded, Unavailable, TimedOut, StreamCut, NotFound, Quota, Auth, ContextTooLong}
}

// Single is a configuration with one model, as OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL describe it.
func Single(key Secret, baseURL, model string) Config {
	return Config{DefaultModel: {Model: model, BaseURL: baseURL, Key: key}}
}

// With adds the model that settings describe, where they describe one. standard is the configured name that is meant where
// none is named: that of the settings, "default", or the only one there is; it is empty without any model, and where several
// leave it open. The configuration itself stays as it is.
func (c Config) With(key Secret, baseURL, model string) (all Config, standard string) {
	all = Config{}
	maps.Copy(all, c)
	_, known := all[model]
	switch {
	case model != "" && known:
		return all, model
	case model != "":
		all[model] = Single(key, baseURL, model)[DefaultModel]
		return all, model
	case len(all) == 0 && (key != "" || baseURL != ""):
		all = Single(key, baseURL, "")
	}
	if _, has := all[DefaultModel]; has {
		return all, DefaultModel
	}
	if names := all.Names(); len(names) == 1 {
		return all, names[0]
	}
	return all, ""
}

// Classes lists every class of failure by name, for the schema of the configuration.
func Classes() []Class { return slices.Sorted(maps.Keys(classes)) }

// Rungs lists the ways of asking for structured output, the strongest first.
func Rungs() []Rung { return slices.Clone(ladder) }

// Names lists the configured names in order.
func (c Config) Names() []string { return slices.Sorted(maps.Keys(c)) }

// Validate finds every fault, each with its field.
func (c Config) Validate() error {
	var faults events.Faults
	for _, name := range c.Names() {
		faults = append(faults, c[name].faults(c, name)...)
	}
	return faults.OrNil()
}

func (m ModelConfig) faults(c Config, name string) (faults events.Faults) {
	fault := func(field, format string, args ...any) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: name + "." + field, Message: fmt.Sprintf(format, args...)})
	}
	if m.BaseURL != "" {
		if u, err := url.Parse(m.BaseURL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			fault("base_url", "is not an http or https address")
		} else if u.User != nil || u.RawQuery != "" {
			fault("base_url", "must hold no user, password or query: use key and headers")
		}
	}
	if !slices.Contains([]string{"", "auto", string(DialectChat), string(DialectResponses)}, m.API) {
		fault("api", "%q is not auto, chat or responses", m.API)
	}
	if m.Structured != "" && !slices.Contains(ladder, m.Structured) {
		fault("structured", "%q is not json_schema, json_object, tool or prompt", m.Structured)
	}
	if m.Temperature != nil && !(*m.Temperature >= 0 && *m.Temperature <= 2) {
		fault("temperature", "%v is not between 0 and 2", *m.Temperature)
	}
	m.faultyNumbers(fault)
	for i, next := range m.Fallback {
		if _, ok := c[next]; !ok || next == name {
			fault(fmt.Sprintf("fallback[%d]", i), "%q is no other configured model, there are %s", next, strings.Join(c.Names(), ", "))
		}
	}
	for i, class := range m.FallbackOn {
		if _, ok := classes[class]; !ok {
			fault(fmt.Sprintf("fallback_on[%d]", i), "%q is no class of failure", class)
		}
	}
	for header := range m.Headers {
		if strings.EqualFold(header, "Authorization") {
			fault("headers", "%s is made from key", header)
		}
	}
	return faults
}

func (m ModelConfig) faultyNumbers(fault func(field, format string, args ...any)) {
	for _, number := range []struct {
		field string
		value float64
	}{
		{"max_tokens", float64(m.MaxTokens)},
		{"timeout", float64(m.Timeout)},
		{"idle", float64(m.Idle)},
		{"max_wait", float64(m.MaxWait)},
		{"retries", float64(value(m.Retries, 0))},
		{"limits.concurrency", float64(m.Limits.Concurrency)},
		{"limits.requests_per_minute", float64(m.Limits.RequestsPerMinute)},
		{"limits.tokens_per_minute", float64(m.Limits.TokensPerMinute)},
		{"price.prompt", value(m.Price, Price{}).Prompt},
		{"price.completion", value(m.Price, Price{}).Completion},
		{"price.cached", value(value(m.Price, Price{}).Cached, 0)},
	} {
		if !(number.value >= 0) {
			fault(number.field, "must not be negative")
		}
	}
}

// filled sets what was left empty.
func (m ModelConfig) filled(name string) ModelConfig {
	m.Model = cmp.Or(m.Model, name)
	m.BaseURL = strings.TrimRight(cmp.Or(m.BaseURL, openAI), "/")
	m.Structured = cmp.Or(m.Structured, RungSchema)
	m.Timeout = cmp.Or(m.Timeout, 10*time.Minute)
	m.Idle = cmp.Or(m.Idle, 2*time.Minute)
	m.MaxWait = cmp.Or(m.MaxWait, 30*time.Second)
	if len(m.FallbackOn) == 0 {
		m.FallbackOn = DefaultFallbackOn()
	}
	return m
}

// openAI is where a model without base_url is.
const openAI = "https://api.openai.com/v1"

// value is what p points to, or a default.
func value[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
