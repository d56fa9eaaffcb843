package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of connections over HTTP. If a server sends pings and lets more than maxAnswers answers wait, it no longer accepts
// messages.
const (
	maxHeader   = 64 << 10
	idleTimeout = time.Minute
	maxAnswers  = 512
)

// transport returns the transport of a session. Its other resources are released when the session ends.
func (x *session) transport() (sdk.Transport, error) {
	way, _ := x.server.config.way() // Checked before.
	limit := x.server.config.ReplyLimit
	switch way {
	case stdio:
		p, err := startChild(&x.server.config, x.server.pool.settings, func(why error) { x.cancel(why) })
		if err != nil {
			return nil, err
		}
		x.child = p
		return &sdk.IOTransport{Reader: &counted{ReadCloser: x.redacted(p.pipes.Stdout), flow: x.flow}, Writer: &stdin{file: p.pipes.Stdin, session: x}, MaxLineLength: limit}, nil
	case websocket:
		return &socket{config: &x.server.config, flow: x.flow, redactor: x.server.pool.settings.Secrets.Redactor()}, nil
	}
	client, err := x.web()
	if err != nil {
		return nil, err
	}
	if way == sse {
		return &sdk.SSEClientTransport{Endpoint: x.server.config.URL, HTTPClient: client, MaxEventSize: limit}, nil
	}
	return &sdk.StreamableClientTransport{Endpoint: x.server.config.URL, HTTPClient: client, MaxEventSize: limit}, nil
}

// redacted returns the server's output without secrets.
func (x *session) redacted(said io.ReadCloser) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{x.server.pool.settings.Secrets.Redactor().Reader(said), said}
}

// stdin writes to a program. A program that reads nothing for too long is ended, since the data to write would pile up.
type stdin struct {
	file    *os.File
	session *session
}

// Close implements io.Closer.
func (s *stdin) Close() error { return s.file.Close() }

// Write implements io.Writer.
func (s *stdin) Write(p []byte) (int, error) {
	if err := s.file.SetWriteDeadline(time.Now().Add(stuckAfter)); err != nil {
		return 0, err
	}
	n, err := s.file.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.session.cancel(errStuck)
	}
	return n, err
}

// web returns an HTTP client that connects only to this server and counts what it reads.
func (x *session) web() (*http.Client, error) {
	home, err := url.Parse(x.server.config.URL)
	if err != nil {
		return nil, errors.New("the url cannot be read")
	}
	inner := &http.Transport{
		TLSHandshakeTimeout: x.server.config.StartTimeout, MaxResponseHeaderBytes: maxHeader, IdleConnTimeout: idleTimeout, ForceAttemptHTTP2: true,
	}
	x.idle = inner.CloseIdleConnections
	return &http.Client{Transport: &homeward{inner: inner, home: home, session: x}}, nil
}

// errNotSent means that a request reached no server.
var errNotSent = errors.New("no server was reached")

// errLost means that a request's answer did not come: it may have reached the server. The SDK would report it as refused.
var errLost = errors.New("its answer is lost")

// homeward sends requests to one server and no other, since they contain its secrets.
type homeward struct {
	inner   *http.Transport
	home    *url.URL
	session *session
	answers atomic.Int64 // Our answers that the server has not accepted yet.
}

// RoundTrip implements http.RoundTripper.
func (h *homeward) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.EqualFold(r.URL.Scheme, h.home.Scheme) || !strings.EqualFold(r.URL.Host, h.home.Host) {
		return nil, fmt.Errorf("the server leads to %s, which is not where it is", r.URL.Host)
	}
	if _, limited := r.Context().Deadline(); !limited { // It answers a request of the server.
		if h.answers.Add(1) > maxAnswers {
			h.session.cancel(errStuck)
		}
		defer h.answers.Add(-1)
	}
	ctx, done := h.session.bind(r)
	r = r.Clone(ctx)
	for name, value := range h.session.server.config.Headers { // any order: names are told apart.
		r.Header.Set(name, value)
	}
	answer, err := h.inner.RoundTrip(r)
	if err != nil {
		done()
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLost, err)
	}
	if answer.StatusCode == http.StatusBadGateway || answer.StatusCode == http.StatusGatewayTimeout { // A proxy reports that it reached no server.
		_ = answer.Body.Close() // Its content is not needed.
		done()
		return nil, fmt.Errorf("%w: %s", errLost, answer.Status)
	}
	body := &counted{ReadCloser: h.session.redacted(answer.Body), flow: h.session.flow, done: done}
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		body.limit = h.session.server.config.ReplyLimit
	}
	answer.Body = body
	return answer, nil
}

// bind returns the context of a request, which ends with that of the request, with done, and with the session unless it is
// the request that closes the session at the server.
func (x *session) bind(r *http.Request) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(r.Context())
	if r.Method == http.MethodDelete {
		return ctx, cancel
	}
	unhook := context.AfterFunc(x.ctx, cancel)
	return ctx, func() { unhook(); cancel() }
}

var _ io.ReadCloser = (*counted)(nil)
