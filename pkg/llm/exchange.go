package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Doer sends a request. *http.Client is one, so are a cassette and a scripted model.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// exchange is one request as the cure and the dialects share it: what goes beyond the SDK on the way out, and what the SDK
// would lose on the way in. It travels in the request's context and belongs to the goroutine of the call.
type exchange struct {
	dialect Dialect
	stream  bool
	// set are fields of the body that the SDK cannot send.
	set    map[string]any
	header http.Header
	// redactor takes out what no error shows.
	redactor *redact.Redactor
	// touch is called whenever the provider shows a sign of life.
	touch func()
	now   func() time.Time

	// sent is set when a request has left.
	sent bool
	// events are those of an answer that was asked for as a stream, nil before it has begun.
	events *plainStream
	// fail is why there is no answer, which beats whatever the SDK makes of it.
	fail *Error
	// cost is what the provider says the call has cost.
	cost *float64
	// items are the raw items of the answer that go back with the turn.
	items []json.RawMessage
}

type exchangeKey struct{}

func (x *exchange) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// failed keeps the first failure.
func (x *exchange) failed(err *Error) {
	if x.fail == nil {
		x.fail = err
	}
}

// told is a failure in the provider's words.
func (x *exchange) told(status int, body []byte) *Error {
	s := listen(body)
	return &Error{
		Class: classify(status, s), Status: status, Message: excerpt(s.message, x.redactor),
		Code: excerpt(s.code, x.redactor), Param: excerpt(s.param, x.redactor),
	}
}

// broken is a failure on the way: a connection, a body, a deadline. It never shows the address with its query.
func (x *exchange) broken(err error, during Class) *Error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var late net.Error
	made := &Error{Class: during, Message: excerpt(err.Error(), x.redactor)}
	switch {
	case errors.Is(err, errTooLarge):
		made.Class = Malformed
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		made.Class = TimedOut
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	return made
}

// nonsense is an answer that cannot be understood; a part of it is kept.
func (x *exchange) nonsense(why string, body []byte) *Error {
	return &Error{Class: Malformed, Message: why + ": " + excerpt(string(body), x.redactor)}
}
