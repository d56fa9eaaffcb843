package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// errIdle ends an attempt whose provider has gone silent.
var errIdle = errors.New("the provider is silent")

// attempt sends a request once and checks the answer.
func (t *turn) attempt(caller context.Context, doer Doer, now func() time.Time, sink func(Delta)) (Response, *Error) {
	ctx, done := context.WithTimeout(caller, t.cfg.Timeout)
	defer done()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	x := t.exchange(now)
	if t.request.Stream {
		idle := time.AfterFunc(t.cfg.Idle, func() { stop(errIdle) })
		defer idle.Stop()
		x.touch = func() { idle.Reset(t.cfg.Idle) }
	}
	a := newAnswer(t.cfg, t.redactor, sink)
	err := t.call(ctx, x, doer, a)
	if fail := x.verdict(err); fail != nil {
		if fail.Partial == nil {
			fail.Partial = a.bad(fail.Class, "").Partial
		}
		return Response{}, t.late(caller, ctx, fail)
	}
	answered, fail := a.finish(t.request, t.rung())
	if fail != nil {
		fail.Partial = t.priced(fail.Partial, x.cost)
		if fail.Class == StreamCut {
			fail = t.late(caller, ctx, fail)
		}
		return Response{}, fail
	}
	answered.Dialect, answered.Rung, answered.Dropped = t.shape.dialect, t.rung(), t.shape.dropped
	answered.Carry = t.carried(x.items, answered.Calls)
	return *t.priced(&answered, x.cost), nil
}

// call sends the request in the dialect of the turn.
func (t *turn) call(ctx context.Context, x *exchange, doer Doer, a *answer) error {
	if p := protocols[t.shape.dialect]; p != nil {
		return t.native(ctx, x, doer, p, a)
	}
	sdk := openai.DefaultConfig(string(t.cfg.Key))
	sdk.BaseURL, sdk.HTTPClient = t.cfg.BaseURL, compatibility{doer}
	put := t.chat
	if t.shape.dialect == DialectResponses {
		put = t.responses
	}
	return put(x.in(ctx), x, openai.NewClientWithConfig(sdk), a)
}

func (t *turn) priced(r *Response, stated *float64) *Response {
	if r != nil {
		r.CostUSD = t.cfg.cost(stated, r.Usage)
	}
	return r
}

func (t *turn) exchange(now func() time.Time) *exchange {
	x := &exchange{
		dialect: t.shape.dialect, stream: t.request.Stream, set: t.fields(), header: http.Header{},
		redactor: t.redactor, now: now, touch: func() {},
	}
	for name, text := range t.cfg.Headers {
		x.header.Set(name, text)
	}
	if key := t.request.IdempotencyKey; key != "" {
		if t.adapted > 0 {
			key = fmt.Sprintf("%s~%d", key, t.adapted) // Another body under the same key would be a conflict.
		}
		x.header.Set("Idempotency-Key", key)
	}
	return x
}

// verdict returns the reason why there is no answer: the exchange's, else the SDK's.
func (x *exchange) verdict(err error) *Error {
	switch own, ok := errors.AsType[*Error](err); {
	case x.fail != nil:
		return x.fail
	case err == nil:
		return nil
	case ok:
		return own
	case x.sent:
		return &Error{Class: Malformed, Message: excerpt(err.Error(), x.redactor)}
	}
	return presumed(err)
}

// late replaces the error of a broken connection by its cause: the caller, the time limit of the attempt, or silence.
func (t *turn) late(caller, ctx context.Context, fail *Error) *Error {
	if fail.Status != 0 || ctx.Err() == nil {
		return fail
	}
	late := &Error{Class: TimedOut, Partial: fail.Partial, cause: context.DeadlineExceeded}
	switch {
	case caller.Err() != nil:
		late = gaveUp(caller.Err())
		late.Partial = fail.Partial
	case errors.Is(context.Cause(ctx), errIdle):
		late.slow, late.Message = true, fmt.Sprintf("%v for %s", errIdle, t.cfg.Idle)
	default:
		late.slow, late.Message = true, fmt.Sprintf("no whole answer within %s", t.cfg.Timeout)
	}
	return late
}

// observation describes an attempt for the meter.
func observation(name string, r Response, fail *Error, took time.Duration) Observation {
	if fail == nil {
		return Observation{Model: name, Outcome: "ok", Usage: r.Usage, CostUSD: r.CostUSD, Took: took}
	}
	made := Observation{Model: name, Outcome: string(cmp.Or(fail.Class, Unavailable)), Took: took}
	if fail.Partial != nil {
		made.Usage, made.CostUSD = fail.Partial.Usage, fail.Partial.CostUSD
	}
	return made
}
