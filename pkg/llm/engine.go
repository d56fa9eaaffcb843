package llm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Client answers requests. An Engine is one; tests and caches may be others.
type Client interface {
	// Do makes one call. Pieces of the answer go to sink, which may be nil, in the calling goroutine, and only when the
	// request asks for a stream. Every error is an *Error, or events.Faults when the request itself is impossible.
	Do(ctx context.Context, r Request, sink func(Delta)) (Response, error)
}

// Settings are what an Engine needs from outside. The zero value works.
type Settings struct {
	// Doer sends requests; an http.Client of the Engine's own when nil.
	Doer Doer
	// Meter counts attempts; nil disables it.
	Meter Meter
	// Now, Sleep and Jitter are the clock, the wait that a context can end, and chance in [0,1); the real ones when nil.
	Now    func() time.Time
	Sleep  func(ctx context.Context, d time.Duration) error
	Jitter func() float64
	// Secrets are what no answer and no error shows. The keys of the models are added; a set of the Engine's own when nil.
	Secrets *redact.Set
}

// Engine calls the configured models. It is safe for concurrent use.
type Engine struct {
	settings Settings
	// transport is set when the Engine made it, to be closed by Close.
	transport *http.Transport
	change    sync.Mutex // Serialises Set.
	models    atomic.Pointer[map[string]*model]
}

// model is one configured model with what lives longer than a call.
type model struct {
	name    string
	cfg     ModelConfig
	limits  *limiter
	learned *memory
}

// New is an Engine with its models.
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

// Set changes the models at once: calls that are under way end as they began, later ones see the new ones. Limits and what
// has been learned are kept where they still apply. A faulty configuration changes nothing.
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

// sameModel reports whether what was learned of a model still holds.
func (m ModelConfig) sameModel(other ModelConfig) bool {
	return m.Model == other.Model && m.BaseURL == other.BaseURL && m.API == other.API && m.Structured == other.Structured &&
		reflect.DeepEqual(m.Extra, other.Extra)
}

// Models lists the configured names in order.
func (e *Engine) Models() []string { return slices.Sorted(maps.Keys(*e.models.Load())) }

const (
	// mostIdle is how many connections to a provider are kept for the next calls: a runner makes 256 at once by default, and with
	// fewer each of them would begin with another handshake.
	mostIdle = 1024
	// idleFor is how long: what a burst has opened does not stay.
	idleFor = 20 * time.Second
)

// Close drops idle connections. Calls under way are ended by their contexts.
func (e *Engine) Close() {
	if e.transport != nil {
		e.transport.CloseIdleConnections()
	}
}

// Do calls the requested model, then those it may fall through to.
func (e *Engine) Do(ctx context.Context, r Request, sink func(Delta)) (Response, error) {
	if err := r.check(); err != nil {
		return Response{}, fmt.Errorf("check request: %w", err)
	}
	models := *e.models.Load()
	first := models[cmp.Or(r.Model, DefaultModel)]
	if first == nil {
		return Response{}, &Error{
			Class: NotFound, Model: cmp.Or(r.Model, DefaultModel), Message: fmt.Sprintf("no model of this name is configured, there are %q", e.Models()),
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

// failed is the error of the whole chain: the first that may pass, else the first; it says when the first of all those
// that may pass does so, and what became of the others.
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
