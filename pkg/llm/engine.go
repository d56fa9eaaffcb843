package llm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Client answers requests. Engine implements it; tests and caches may too.
type Client interface {
	// Do makes one call. If the request asks for a stream, pieces of the answer go to sink, which may be nil, in the
	// calling goroutine. Every error is an *Error, or events.Faults if the request itself is invalid.
	Do(ctx context.Context, r Request, sink func(Delta)) (Response, error)
}

// Settings are an Engine's dependencies. The zero value works.
type Settings struct {
	// Doer sends requests; nil means an http.Client of the Engine's own.
	Doer Doer
	// Meter counts attempts; nil disables it.
	Meter Meter
	// Now, Sleep and Jitter are the clock, a wait that a context can end, and random numbers in [0,1); nil means the real
	// ones.
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Jitter func() float64
	// Secrets are removed from all answers and errors. The keys of the models are added. nil means a set of the Engine's
	// own.
	Secrets *redact.Set
}

// Engine calls the configured models. It is safe for concurrent use.
type Engine struct {
	settings Settings
	// transport is set if the Engine created it; Close closes it.
	transport *http.Transport
	change    sync.Mutex // Serialises Set.
	models    atomic.Pointer[map[string]*model]
}

// model is one configured model with the state that outlives a call.
type model struct {
	name    string
	cfg     ModelConfig
	limits  *limiter
	learned *memory
	// slow is true if the last call ended because the model used up the time of an attempt.
	slow atomic.Bool
}

// New returns an Engine with its models.
func New(config Config, s Settings) (*Engine, error) {
	e := &Engine{settings: s}
	e.models.Store(&map[string]*model{})
	if e.settings.Secrets == nil {
		e.settings.Secrets = redact.NewSet()
	}
	if e.settings.Doer == nil {
		if standard, ok := http.DefaultTransport.(*http.Transport); ok {
			e.transport = standard.Clone()
			e.transport.MaxIdleConns, e.transport.MaxIdleConnsPerHost, e.transport.IdleConnTimeout = 0, mostIdle, idleFor
			e.settings.Doer = &http.Client{Transport: e.transport}
		} else {
			e.settings.Doer = &http.Client{}
		}
	}
	if e.settings.Now == nil {
		e.settings.Now = time.Now
	}
	if e.settings.Sleep == nil {
		e.settings.Sleep = sleepFor
	}
	if e.settings.Jitter == nil {
		e.settings.Jitter = chance
	}
	return e, e.Set(config)
}

// Set replaces the models: running calls end with the old ones, later calls use the new ones. Limits and memory are kept
// where they still apply. A faulty configuration changes nothing.
func (e *Engine) Set(config Config) error {
	if err := config.Validate(); err != nil {
		return fmt.Errorf("set models: %w", err)
	}
	e.change.Lock()
	defer e.change.Unlock()
	old, made := *e.models.Load(), map[string]*model{}
	for name, cfg := range config {
		cfg = cfg.filled(name)
		m := &model{name: name, cfg: cfg}
		if was := old[name]; was != nil && was.cfg.Limits == cfg.Limits {
			m.limits = was.limits
		}
		if was := old[name]; was != nil && was.cfg.sameModel(cfg) {
			m.learned = was.learned
		}
		m.limits = cmp.Or(m.limits, newLimiter(cfg.Limits))
		m.learned = cmp.Or(m.learned, newMemory(cfg))
		made[name] = m
		e.settings.Secrets.Add(string(cfg.Key))
	}
	e.models.Store(&made)
	return nil
}

// sameModel reports whether the memory of a model is still valid.
func (m ModelConfig) sameModel(other ModelConfig) bool {
	return m.Model == other.Model && m.BaseURL == other.BaseURL && m.API == other.API && m.Structured == other.Structured &&
		reflect.DeepEqual(m.Extra, other.Extra)
}

// Models lists the configured names in order.
func (e *Engine) Models() []string { return slices.Sorted(maps.Keys(*e.models.Load())) }

// Standing is a configured model with what its limits leave at this moment; fields without a limit are nil.
type Standing struct {
	// Name is the configured name, Config the configuration with its defaults.
	Name   string
	Config ModelConfig
	// Slots is how many requests may begin at once, Requests and Tokens are what remains of the minute.
	Slots, Requests, Tokens *int
	// Closed is until when the provider has asked to wait; zero if it has not.
	Closed time.Time
}

// Standings describes the configured models in the order of their names.
func (e *Engine) Standings() []Standing {
	models, now := *e.models.Load(), e.settings.Now()
	list := make([]Standing, 0, len(models))
	for _, name := range slices.Sorted(maps.Keys(models)) {
		m := models[name]
		s := m.limits.standing(now)
		s.Name, s.Config = name, m.cfg
		list = append(list, s)
	}
	return list
}

const (
	// mostIdle is how many idle connections to a provider are kept: a runner makes 256 calls at once by default, and with
	// fewer connections each of them would begin with another handshake.
	mostIdle = 1024
	// idleFor is how long idle connections are kept, so that those opened by a burst do not stay.
	idleFor = 20 * time.Second
)

// Close closes idle connections. Running calls end with their contexts.
func (e *Engine) Close() {
	if e.transport != nil {
		e.transport.CloseIdleConnections()
	}
}

// list writes names in quotes.
func list(names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = strconv.Quote(name)
	}
	return strings.Join(texts, ", ")
}

// Do calls the requested model, then its fallbacks.
func (e *Engine) Do(ctx context.Context, r Request, sink func(Delta)) (Response, error) {
	if err := r.check(); err != nil {
		return Response{}, fmt.Errorf("check request: %w", err)
	}
	models := *e.models.Load()
	first := models[cmp.Or(r.Model, DefaultModel)]
	if first == nil {
		return Response{}, &Error{
			Class: NotFound, Model: cmp.Or(r.Model, DefaultModel), Message: "the configured models are " + list(e.Models()),
		}
	}
	c := &call{engine: e, request: r, estimate: r.estimate(), began: e.settings.Now(), sink: sink, redactor: e.settings.Secrets.Redactor()}
	var failures []*Error
	for _, name := range append([]string{first.name}, first.cfg.Fallback...) {
		answered, fail := c.model(ctx, models[name])
		if fail == nil {
			answered.Attempts, answered.Took = c.attempts, e.settings.Now().Sub(c.began)
			return answered, nil
		}
		fail.Model = name
		failures = append(failures, fail)
		if ctx.Err() != nil || !slices.Contains(first.cfg.FallbackOn, fail.Class) {
			break
		}
	}
	return Response{}, c.failed(failures)
}

// failed returns the error of the whole chain: the first that may pass, else the first. It gives the earliest time for a
// retry, and mentions the other errors.
func (c *call) failed(failures []*Error) *Error {
	told := failures[max(0, slices.IndexFunc(failures, (*Error).Passing))]
	made := *told
	made.Attempts = c.attempts
	for _, other := range failures {
		if made.Passing() && other.Passing() && other.RetryAfter > 0 && (made.RetryAfter == 0 || other.RetryAfter < made.RetryAfter) {
			made.RetryAfter = other.RetryAfter
		}
		if other != told {
			made.Message += fmt.Sprintf("; %s: %s", other.Model, other.Class)
		}
	}
	return &made
}
