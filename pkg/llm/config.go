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

// DefaultModel is the configured name used if a request names none.
const DefaultModel = "default"

// Config holds the configured models by name: the key `models` of jobgraph.yaml.
type Config map[string]ModelConfig

// ModelConfig is one model at one provider.
type ModelConfig struct {
	// Model is the provider's name of the model; the configured name if empty.
	Model string `yaml:"model"`
	// BaseURL is the address of the API, including /v1; that of the API's own provider if empty, OpenAI's for auto.
	BaseURL string `yaml:"base_url"`
	// Key is sent as bearer token, or in the header that the API wants; providers on the same machine need none.
	Key Secret `yaml:"key"`
	// API is the provider's dialect: "chat" or "responses" of OpenAI, "anthropic" (Messages), "gemini" (generateContent), or "auto"
	// (also if empty): the API of Anthropic or Google if base_url is theirs, else chat, until the provider requires Responses.
	API string `yaml:"api"`
	// Structured is the first way to request structured output, json_schema if empty.
	Structured Rung `yaml:"structured"`
	// Temperature applies to requests that set none; the provider's default if nil.
	Temperature *float64 `yaml:"temperature"`
	// MaxTokens limits answers to requests that set no limit; 0 leaves the limit to the provider.
	MaxTokens int `yaml:"max_tokens"`
	// Effort applies to requests that set none.
	Effort string `yaml:"effort"`
	// OpenThink is true if the provider's template opens <think> itself, so that answers begin inside it.
	OpenThink bool `yaml:"open_think"`
	// Stream is false for a provider whose streams are unreliable: then every answer is requested in one piece. nil means true.
	Stream *bool `yaml:"stream"`
	// SendMetadata includes Request.Metadata in the requests to the provider.
	SendMetadata bool `yaml:"send_metadata"`
	// Headers are sent with every request.
	Headers map[string]string `yaml:"headers"`
	// Extra are additional fields of the request's body.
	Extra map[string]any `yaml:"extra"`
	// Timeout limits one attempt, including the whole stream; 0 means 10m.
	Timeout time.Duration `yaml:"timeout"`
	// Idle limits the silence before and within a streamed answer; comments in the stream count as silence. 0 means 2m, but 5m with
	// effort high or at an address of this machine or a private network, where a model may have to be loaded first.
	Idle time.Duration `yaml:"idle"`
	// Retries is how often a failed attempt is repeated; nil means 3. An attempt that used up its time is repeated once
	// at most.
	Retries *int `yaml:"retries"`
	// MaxWait is the longest pause before a retry; a provider that asks for more fails the call at once. 0 means 30s.
	MaxWait time.Duration `yaml:"max_wait"`
	// Limits keep calls below the provider's limits.
	Limits RateLimits `yaml:"limits"`
	// Price applies if the provider does not state the cost of a call.
	Price *Price `yaml:"price"`
	// Fallback names the models to try next, in order.
	Fallback []string `yaml:"fallback"`
	// FallbackOn lists the error classes on which the next model is tried; DefaultFallbackOn if empty.
	FallbackOn []Class `yaml:"fallback_on"`
}

// RateLimits are the limits of one model; zero means unlimited.
type RateLimits struct {
	// Concurrency limits the concurrent requests.
	Concurrency int `yaml:"concurrency"`
	// RequestsPerMinute limits the attempts per minute.
	RequestsPerMinute int `yaml:"requests_per_minute"`
	// TokensPerMinute limits tokens: the prompt is estimated before a request, the rest is counted as billed after it.
	TokensPerMinute int `yaml:"tokens_per_minute"`
}

// Price is the price per million tokens, in US dollars.
type Price struct {
	// Prompt is the price of input tokens.
	Prompt float64 `yaml:"prompt"`
	// Cached is the price of input tokens from the provider's cache; Prompt if nil.
	Cached *float64 `yaml:"cached"`
	// CacheWrite is the price of input tokens that the provider writes to its cache; Prompt if nil.
	CacheWrite *float64 `yaml:"cache_write"`
	// Completion is the price of output tokens, including reasoning.
	Completion float64 `yaml:"completion"`
}

// DefaultFallbackOn lists the classes on which the next model is tried: errors of the provider, not of the request. A
// prompt that is too long is included, since another model may have room for it.
func DefaultFallbackOn() []Class {
	return []Class{RateLimited, Overloaded, Unavailable, TimedOut, StreamCut, NotFound, Quota, Auth, ContextTooLong}
}

// Single returns a configuration with one model, as OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL describe it.
func Single(key Secret, baseURL, model string) Config {
	return Config{DefaultModel: {Model: model, BaseURL: baseURL, Key: key}}
}

// With returns a copy with the model that variables describe, if they describe one. standard is the configured name of the
// default model: that of the variables, "default", or the only one. It is empty without any model, and if several leave it
// open.
func (c Config) With(v Variables) (all Config, standard string) {
	all = Config{}
	maps.Copy(all, c)
	_, known := all[v.Model]
	_, account := v.Account()
	switch {
	case v.Model != "" && known:
		return all, v.Model
	case v.Model != "":
		all[v.Model] = v.model()
		return all, v.Model
	case len(all) == 0 && (v.BaseURL != "" || account):
		all = Config{DefaultModel: v.model()}
	}
	if _, has := all[DefaultModel]; has {
		return all, DefaultModel
	}
	if names := all.Names(); len(names) == 1 {
		return all, names[0]
	}
	return all, ""
}

// Classes lists every error class by name, for the schema of the configuration.
func Classes() []Class { return slices.Sorted(maps.Keys(classes)) }

// Rungs lists the ways to request structured output, the strongest first.
func Rungs() []Rung { return slices.Clone(ladder) }

// APIs lists the possible values of a model's api.
func APIs() []string {
	return []string{"auto", string(DialectChat), string(DialectResponses), string(DialectAnthropic), string(DialectGemini)}
}

// Names lists the configured names in order.
func (c Config) Names() []string { return slices.Sorted(maps.Keys(c)) }

// Validate returns all faults, each with its field.
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
			faults = append(faults, events.Fault{
				Code: events.CodeInvalid, Field: name + ".base_url", Message: "is not an http or https address",
				Hint: "write it as http://HOST:PORT/v1, in base_url or, where variables describe the model, in OPENAI_BASE_URL",
			})
		} else if u.User != nil || u.RawQuery != "" {
			fault("base_url", "must hold no user, password or query: use key and headers")
		}
	}
	if !slices.Contains(append([]string{""}, APIs()...), m.API) {
		fault("api", "%q is not %s", m.API, strings.Join(APIs(), ", "))
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
		if slices.ContainsFunc([]string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"}, func(own string) bool { return strings.EqualFold(header, own) }) {
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
		{"price.cache_write", value(value(m.Price, Price{}).CacheWrite, 0)},
	} {
		if !(number.value >= 0) {
			fault(number.field, "must not be negative")
		}
	}
}

// filled sets the defaults of empty fields.
func (m ModelConfig) filled(name string) ModelConfig {
	m.Model = cmp.Or(m.Model, name)
	m.BaseURL = m.address()
	m.Structured = cmp.Or(m.Structured, RungSchema)
	m.Timeout = cmp.Or(m.Timeout, 10*time.Minute)
	m.Idle = cmp.Or(m.Idle, m.patience())
	m.MaxWait = cmp.Or(m.MaxWait, 30*time.Second)
	if len(m.FallbackOn) == 0 {
		m.FallbackOn = DefaultFallbackOn()
	}
	return m
}

// patience is the default of Idle. Models that think long, and local ones that are loaded or read a long prompt, send
// nothing during that time.
func (m ModelConfig) patience() time.Duration {
	if m.Effort == "high" || near(m.BaseURL) {
		return 5 * time.Minute
	}
	return 2 * time.Minute
}

// value returns what p points to, or a default.
func value[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
