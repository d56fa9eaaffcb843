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

// Doer sends a request. *http.Client is one, and so are a cassette and a scripted model.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// exchange is one request as shared by compatibility and the dialects: what to add to the SDK's request, and what the SDK
// would lose of the answer. It travels in the request's context and belongs to the goroutine of the call.
type exchange struct {
	dialect Dialect
	stream  bool
	// set are fields of the body that the SDK cannot send.
	set    map[string]any
	header http.Header
	// redactor removes what no error may show.
	redactor *redact.Redactor
	// touch is called whenever the provider sends something.
	touch func()
	now   func() time.Time

	// sent is true once a request was sent.
	sent bool
	// events are the events of a streamed answer, nil before it begins.
	events *plainStream
	// fail is why there is no answer. It takes precedence over the SDK's error.
	fail *Error
	// cost is the cost stated by the provider.
	cost *float64
	// items are the raw items of the answer to send back with the turn.
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

// failed stores the first error.
func (x *exchange) failed(err *Error) {
	if x.fail == nil {
		x.fail = err
	}
}

// told returns an error in the provider's words.
func (x *exchange) told(status int, body []byte) *Error {
	s := listen(body)
	class := classify(status, s)
	return &Error{
		Class: class, wrong: class == Malformed, Status: status, Message: excerpt(s.message, x.redactor),
		Code: excerpt(s.code, x.redactor), Param: excerpt(s.param, x.redactor), RetryAfter: s.after, RequestID: excerpt(s.request, x.redactor),
	}
}

// broken returns the error of a connection, a body or a deadline. It never shows the address with its query.
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

// nonsense returns the error of an answer that cannot be parsed, with an excerpt.
func (x *exchange) nonsense(why string, body []byte) *Error {
	return &Error{Class: Malformed, Message: why + ": " + excerpt(string(body), x.redactor)}
}
