package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of fetch.
const (
	// MaxFetched is the maximum size of an answer, in bytes.
	MaxFetched = 256 << 10
	// FetchTime is how long one call may take.
	FetchTime = 30 * time.Second
	// maxRedirects is the maximum number of redirects.
	maxRedirects = 5
)

// Web fetches pages. It may be used by any number of goroutines; Close drops idle connections.
type Web struct{ client *http.Client }

// NewWeb is a client behind a guard: every connection is checked, including redirects. It uses no proxy.
func NewWeb(g Guard) *Web {
	dialer := &net.Dialer{Timeout: FetchTime, Control: g.Control}
	transport := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: FetchTime, ResponseHeaderTimeout: FetchTime,
		MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 16, IdleConnTimeout: time.Minute,
	}
	return &Web{client: &http.Client{Transport: transport, Timeout: FetchTime, CheckRedirect: redirect}}
}

// Close drops idle connections.
func (w *Web) Close() { w.client.CloseIdleConnections() }

// redirect follows to web addresses only.
func redirect(next *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return webAddress(next.URL)
}

func webAddress(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("only http and https addresses are fetched")
	}
	if u.User != nil {
		return errors.New("an address with a user or password is not fetched")
	}
	return nil
}

// Tool is the tool of a model.
func (w *Web) Tool() Tool {
	return Tool{
		Name: Fetch, Description: "Fetches a page over HTTP and gives its status and text.", Call: w.fetch,
		Schema: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}`),
	}
}

func (w *Web) fetch(ctx context.Context, c Call) (string, error) {
	var a struct {
		URL string `json:"url"`
	}
	if err := decode(c.Args, &a); err != nil {
		return "", err
	}
	u, err := url.Parse(strings.TrimSpace(a.URL))
	if err != nil {
		return "", fmt.Errorf("bad arguments: %w", err)
	}
	if err := webAddress(u); err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return "", fmt.Errorf("bad arguments: %w", err)
	}
	request.Header.Set("User-Agent", "jobgraph")
	answer, err := w.client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	return page(answer)
}

// page is an answer as text.
func page(answer *http.Response) (string, error) {
	data, err := io.ReadAll(io.LimitReader(answer.Body, MaxFetched+1))
	if err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	more := len(data) > MaxFetched
	text := whole(data[:min(len(data), MaxFetched)])
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")) // What cannot be read is no kind.
	head := fmt.Sprintf("%s %s\n", answer.Status, kind)
	switch {
	case !utf8.ValidString(text):
		return head + fmt.Sprintf("[no text: %d bytes]", len(data)), nil
	case more:
		return head + text + fmt.Sprintf("\n[the first %d bytes]", len(text)), nil
	}
	return head + text, nil
}
