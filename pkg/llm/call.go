package llm

import (
	"context"
	"time"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// call is one Do with its retries and fallbacks. It belongs to the caller's goroutine.
type call struct {
	engine   *Engine
	request  Request
	estimate int
	began    time.Time
	sink     func(Delta)
	// redactor removes what no answer may show.
	redactor *redact.Redactor
	// attempts counts requests, over all models.
	attempts int
	// shown is true once pieces were passed to the sink; another attempt makes them void.
	shown bool
}

// show passes a piece to the sink.
func (c *call) show(d Delta) {
	if c.sink == nil || !c.request.Stream {
		return
	}
	c.shown = c.shown || !d.Restart && d.Retry == ""
	c.sink(d)
}

// restart tells the sink that everything so far is void.
func (c *call) restart() {
	if c.shown {
		c.show(Delta{Restart: true})
		c.shown = false
	}
}

// slowRetries is how often an attempt that used up its time is repeated; after a call that ended like that, none is. A connection may have
// been lost without a sign, and then a new one helps; a model that is silent again is likely to stay so, and each attempt takes minutes.
const slowRetries = 1

// model calls one model until it answers or no further attempt makes sense.
func (c *call) model(ctx context.Context, m *model) (Response, *Error) {
	pace := c.pace(m)
	t := &turn{request: c.request, cfg: m.cfg, shape: m.learned.recall(), redactor: c.redactor}
	t.request.Stream = t.request.Stream && value(m.cfg.Stream, true)
	var refusal *Error
	for failures, slow := 0, 0; ; {
		answered, fail := c.once(ctx, m, t, pace)
		if fail == nil {
			m.slow.Store(false)
			m.learned.learn(t.shape, c.request.Schema != nil)
			answered.Model = m.name
			return answered, nil
		}
		if next, ok := t.shape.adapt(fail, c.request, m.cfg, t.settings()); ok {
			t.shape = next
			t.adapted++
			refusal = first(refusal, fail)
			continue
		}
		failures++
		if fail.slow {
			slow++
		}
		if !fail.again() || failures > value(m.cfg.Retries, 3) || fail.slow && (slow > slowRetries || m.slow.Load()) {
			m.slow.Store(fail.slow)
			if refusal != nil && fail.Class == BadRequest {
				fail = refusal // The first rejection says what is wrong; later ones are about our attempts to avoid it.
			}
			return Response{}, fail
		}
		wait := fail.RetryAfter
		if wait == 0 {
			wait = pace.backoff(failures)
		}
		if pace.tooLong(ctx, wait) {
			fail.RetryAfter = wait
			return Response{}, fail
		}
		fail.Model = m.name
		c.show(Delta{Retry: fail.Error()})
		if err := pace.sleep(ctx, wait); err != nil {
			return Response{}, gaveUp(err)
		}
	}
}

func first(a, b *Error) *Error {
	if a != nil {
		return a
	}
	return b
}

func (c *call) pace(m *model) pace {
	s := c.engine.settings
	p := pace{now: s.Now, sleep: s.Sleep, jitter: s.Jitter, maxWait: m.cfg.MaxWait, hold: c.request.MaxWait}
	if p.hold > 0 {
		p.maxWait = min(p.maxWait, p.hold)
	}
	return p
}

// once makes one attempt within the model's rate limits.
func (c *call) once(ctx context.Context, m *model, t *turn, pace pace) (Response, *Error) {
	if fail := m.limits.enter(ctx, pace, c.estimate); fail != nil {
		fail.retry = -1 // The provider has said when to retry.
		return Response{}, fail
	}
	defer m.limits.leave()
	c.restart()
	c.attempts++
	began := pace.now()
	answered, fail := t.attempt(ctx, c.engine.settings.Doer, pace.now, c.show)
	if fail != nil && fail.unsent {
		c.attempts--
		return Response{}, fail
	}
	seen := observation(m.name, answered, fail, pace.now().Sub(began))
	m.limits.settle(pace, c.estimate, seen.Usage)
	m.limits.close(pace.now(), fail)
	if c.engine.settings.Meter != nil {
		c.engine.settings.Meter.Observe(seen)
	}
	return answered, fail
}
