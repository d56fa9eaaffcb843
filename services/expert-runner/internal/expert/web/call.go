package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// maxRedirects limits the redirects of one call.
const maxRedirects = 5

// newClient returns a client that never sends anything twice by itself: each connection serves one call, so that no
// connection turns out closed after the request was written.
func newClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: checkRedirect,
	}
}

// checkRedirect follows a redirect within the card's host, if the method stays the same or the server says that the answer
// is to be read elsewhere (303). Any other redirect is the answer: a POST turned into a GET was never executed.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	same := next.URL.Scheme == first.URL.Scheme && next.URL.Host == first.URL.Host
	kept := next.Method == first.Method || next.Response != nil && next.Response.StatusCode == http.StatusSeeOther
	if len(via) > maxRedirects || !same || !kept {
		return http.ErrUseLastResponse
	}
	return nil
}

// call makes the call and returns the answer for the journal. An error that is expert.ErrUnknown occurred after the request
// was written, any other before.
func (x *Expert) call(ctx context.Context, target *url.URL, body []byte, t *expert.Task) (json.RawMessage, error) {
	ctx, stop := context.WithTimeout(ctx, x.config.Timeout)
	defer stop()
	var written atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { written.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, x.config.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the request cannot be made") // The error's text contains the URL.
	}
	x.dress(request, body, t)
	response, err := x.client.Do(request)
	if err != nil {
		return nil, x.broken(ctx, err, written.Load())
	}
	defer func() { _ = response.Body.Close() }() // Everything needed was read.
	a, err := x.read(response)
	if err != nil {
		return nil, x.broken(ctx, err, true)
	}
	return json.Marshal(kept{HTTP: a})
}

func (x *Expert) dress(r *http.Request, body []byte, t *expert.Task) {
	r.Header.Set("Accept", "application/json, text/*;q=0.9, */*;q=0.1")
	r.Header.Set("User-Agent", "jobgraph")
	r.Header.Set("Idempotency-Key", t.Work.IdempotencyKey)
	if t.Trace != "" {
		r.Header.Set("traceparent", t.Trace)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range x.config.Headers {
		r.Header.Set(name, value)
		if http.CanonicalHeaderKey(name) == "Host" {
			r.Host = value
		}
	}
}

// broken says why there is no answer, without the URL.
func (x *Expert) broken(ctx context.Context, err error, written bool) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no whole answer within %s", x.config.Timeout)
	}
	if written {
		return fmt.Errorf("%w: %w", expert.ErrUnknown, err)
	}
	return err
}

// read reads an answer up to the limit.
func (x *Expert) read(r *http.Response) (*answer, error) {
	limit := x.config.Limit
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) <= limit { // A longer body is dropped.
		body = x.config.Secrets.Redactor().JSON(body)
		limit = max(limit, int64(len(body)))
	}
	return newAnswer(r, body, limit), nil
}
