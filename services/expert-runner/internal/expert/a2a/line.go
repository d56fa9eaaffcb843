package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/redact"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
)

// line is the transport of one run below the SDK. It counts every byte, recognises errors of the connection itself, and
// converts answers that the SDK would lose (a status, or an error in JSON instead of a stream) into errors that it reports.
type line struct {
	next http.RoundTripper
	host string
	// redactor removes secrets from the agent's answers.
	redactor *redact.Redactor

	mu   sync.Mutex // Guards the fields below: several goroutines may read bodies.
	left int64      // How many more bytes may arrive.
	last []byte     // The beginning of the latest answer, as evidence.
	// failed is the error with which the latest body broke off: the SDK then parses the incomplete event and fails.
	failed error
}

// brokenError is an error of the connection: the message may or may not have arrived.
type brokenError struct{ err error }

func (b *brokenError) Error() string { return b.err.Error() }
func (b *brokenError) Unwrap() error { return b.err }

// rpcError is a JSON-RPC error of the agent.
type rpcError struct {
	code    int
	message string
	data    string
}

func (r *rpcError) Error() string { return fmt.Sprintf("%s (%d)", r.message, r.code) }

// RoundTrip implements http.RoundTripper.
func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.fail(nil)
	response, err := l.next.RoundTrip(r)
	if err != nil {
		return nil, &brokenError{err}
	}
	body := &counted{line: l, body: response.Body, clean: l.redactor.Reader(response.Body)}
	response.Body = body
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	redirect := response.StatusCode >= 300 && response.StatusCode < 400
	switch {
	case redirect && response.Header.Get("Location") != "":
		return response, nil // A redirect that checkRedirect does not follow is for the SDK, which rejects its status.
	case response.StatusCode == http.StatusOK && media == "text/event-stream":
		body.events = true
		return response, nil
	}
	return l.whole(response, r.Header.Get("Accept") == "text/event-stream")
}

// whole reads an answer that is not a stream.
func (l *line) whole(response *http.Response, streaming bool) (*http.Response, error) {
	body, err := io.ReadAll(response.Body)
	closed := response.Body.Close()
	if err = errors.Join(err, closed); err != nil {
		return nil, err
	}
	if failure := rpcErrorOf(body); failure != nil {
		return nil, failure
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, l.refused(response, body)
	}
	if streaming {
		// Convert it to a stream of one event.
		var flat bytes.Buffer
		if err := json.Compact(&flat, body); err != nil {
			return nil, garbled("it is no JSON and no stream", string(body))
		}
		body = append(append([]byte("data: "), flat.Bytes()...), "\n\n"...)
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return response, nil
}

// rpcErrorOf finds a JSON-RPC error, whatever its data field contains.
func rpcErrorOf(body []byte) *rpcError {
	var answer struct {
		Version string `json:"jsonrpc"`
		Error   *struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Version == "" || answer.Error == nil {
		return nil
	}
	return &rpcError{code: answer.Error.Code, message: clip(answer.Error.Message, maxEvidence), data: clip(string(answer.Error.Data), maxEvidence)}
}

// refused returns the meaning of an unsuccessful answer.
func (l *line) refused(r *http.Response, body []byte) *refusal {
	f := &refusal{
		Code: events.CodeExecution, Message: fmt.Sprintf("%s answered %d %s", l.host, r.StatusCode, http.StatusText(r.StatusCode)),
		Cause: clip(string(body), maxEvidence), Hint: "see the agent's log",
	}
	if bytes.Contains(body, []byte("TASK_NOT_FOUND")) || bytes.Contains(body, []byte("task-not-found")) { // The form of HTTP+JSON.
		f.Code, f.Hint = events.CodeNotFound, forgotten
		return f
	}
	switch r.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		f.Code, f.Hint = events.CodeNotPermitted, "correct the headers on the card"
	case http.StatusNotFound, http.StatusGone, http.StatusMethodNotAllowed:
		f.Hint = "correct the address on the card"
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		f.Code, f.Hint, f.RetryAfter = events.CodeUnavailable, "wait, or ask less often", events.Duration(expert.RetryAfter(r.Header.Get("Retry-After"), time.Now()))
	default:
		if r.StatusCode >= 500 {
			f.Code, f.RetryAfter = events.CodeUnavailable, events.Duration(expert.RetryAfter(r.Header.Get("Retry-After"), time.Now()))
		}
	}
	return f
}

// evidence returns the beginning of the latest answer.
func (l *line) evidence() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.last)
}

// took counts received bytes; an error means that the limit is exceeded.
func (l *line) took(p []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(p) > 0 {
		l.last = append(l.last[:0], p[:min(len(p), maxEvidence)]...)
	}
	if l.left -= int64(len(p)); l.left < 0 {
		return over("max_bytes", "used up")
	}
	return nil
}

func (l *line) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
}

// failure returns the error with which the latest body broke off, or nil.
func (l *line) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// counted is a body whose bytes are counted.
type counted struct {
	line *line
	body io.ReadCloser
	// clean reads the body without secrets.
	clean io.Reader
	// events is true for a stream, within while a line of it is incomplete.
	events, within bool
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.clean.Read(p)
	if n > 0 {
		c.within = p[n-1] != '\n'
	}
	if over := c.line.took(p[:n]); over != nil {
		c.line.fail(over)
		return 0, over
	}
	if errors.Is(err, io.EOF) && c.events && c.within {
		err = io.ErrUnexpectedEOF // The stream ended within an event.
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = &brokenError{err}
		c.line.fail(err)
	}
	return n, err
}

// Close implements io.Closer.
func (c *counted) Close() error { return c.body.Close() }
