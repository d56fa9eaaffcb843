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

	"github.com/jobgraph/jobgraph/pkg/egress"
)

// Limits of fetch.
const (
	// MaxFetched is how much text one call returns, in bytes.
	MaxFetched = 256 << 10
	// FetchTime is how long one call may take.
	FetchTime = 30 * time.Second
	// maxRedirects is the maximum number of redirects.
	maxRedirects = 5
)

// Web fetches pages. It may be used by any number of goroutines; Close drops idle connections.
type Web struct{ client *http.Client }

// NewWeb returns a client behind a guard: every connection is checked, including redirects. It uses no proxy.
func NewWeb(g egress.Guard) *Web {
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

// Tool returns the tool fetch.
func (w *Web) Tool() Tool {
	return Tool{
		Name: Fetch, Call: w.fetch,
		Description: "Fetches a page over HTTP and gives its status and text: of a web page the readable part as Markdown, unless raw is true. " +
			"offset continues a long text.",
		Schema: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"},"raw":{"type":"boolean"},"offset":{"type":"integer","minimum":0}},"required":["url"]}`),
	}
}

func (w *Web) fetch(ctx context.Context, c Call) (string, error) {
	var a struct {
		URL    string `json:"url"`
		Raw    bool   `json:"raw"`
		Offset int    `json:"offset"`
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
	return page(answer, a.Raw, max(a.Offset, 0))
}

// page is an answer as text, from a byte on.
func page(answer *http.Response, raw bool, offset int) (string, error) {
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxPage+1))
	if err != nil {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	most := len(data) > maxPage
	data = data[:min(len(data), maxPage)]
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")) // An unreadable type is no type.
	head := fmt.Sprintf("%s %s\n", answer.Status, kind)
	text := whole(data)
	if !utf8.ValidString(text) {
		return head + fmt.Sprintf("[no text: %d bytes]", len(data)), nil
	}
	if !raw && (kind == "text/html" || kind == "application/xhtml+xml") {
		if read, ok := readable(data, answer.Request.URL); ok {
			text = read
		}
	}
	if offset > len(text) {
		return "", fmt.Errorf("the text has %d bytes", len(text))
	}
	for offset < len(text) && !utf8.RuneStart(text[offset]) {
		offset++
	}
	shown := whole([]byte(text[offset:min(len(text), offset+MaxFetched)]))
	switch end := offset + len(shown); {
	case end < len(text):
		shown += fmt.Sprintf("\n[bytes %d to %d of %d; go on with offset %d]", offset, end, len(text), end)
	case most:
		shown += fmt.Sprintf("\n[the page is longer than %d bytes]", maxPage)
	}
	return head + shown, nil
}
