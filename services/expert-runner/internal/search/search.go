package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Provider is a service that searches the web.
type Provider string

// The providers.
const (
	SearXNG Provider = "searxng" // A self-hosted server (docs.searxng.org), which needs no key.
	Brave   Provider = "brave"   // Brave Search API, /res/v1/web/search.
	Tavily  Provider = "tavily"  // Tavily, /search.
	Exa     Provider = "exa"     // Exa, /search.
)

// Providers lists the names of all providers, as in settings.
func Providers() []string {
	return []string{string(SearXNG), string(Brave), string(Tavily), string(Exa)}
}

// Limits of one search.
const (
	// MostResults is how many results one search gives.
	MostResults = 20
	// patience limits the wait for a provider; maxAnswer limits its answer, in bytes.
	patience  = 20 * time.Second
	maxAnswer = 2 << 20
)

// Settings says which provider to use.
type Settings struct {
	// Provider is the service; without it an address means SearXNG.
	Provider Provider
	// Address is the base of its API; the public one if empty.
	Address string
	// Key is the key of the account.
	Key string
}

// Client searches through one provider.
type Client struct {
	settings Settings
	http     *http.Client
}

// New returns a client. The error says what is missing.
func New(s Settings) (*Client, error) {
	if s.Provider == "" && s.Address != "" {
		s.Provider = SearXNG
	}
	standard, known := map[Provider]string{
		SearXNG: "", Brave: "https://api.search.brave.com", Tavily: "https://api.tavily.com", Exa: "https://api.exa.ai",
	}[s.Provider]
	switch {
	case !known:
		return nil, fmt.Errorf("there is no provider %q: use one of %s", string(s.Provider), strings.Join(Providers(), ", "))
	case s.Provider == SearXNG && s.Address == "":
		return nil, errors.New("a SearXNG server needs its address")
	case s.Provider != SearXNG && s.Key == "":
		return nil, fmt.Errorf("%s needs a key", s.Provider)
	}
	s.Address = strings.TrimRight(cmp.Or(s.Address, standard), "/")
	if u, err := url.Parse(s.Address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%.200q is no address of a server", s.Address)
	}
	return &Client{settings: s, http: &http.Client{Timeout: patience, Transport: &http.Transport{
		Proxy: nil, ResponseHeaderTimeout: patience, MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 4, IdleConnTimeout: time.Minute,
	}}}, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Query says what to search for, and which results to return.
type Query struct {
	// Text is what to search for.
	Text string
	// Most limits the results; at most MostResults.
	Most int
	// Since is "day", "week", "month" or "year" for results not older than that; empty for any.
	Since string
	// Now is the current time.
	Now time.Time
}

// Result is one page that was found.
type Result struct {
	Title, URL, Text string
	// Date is when the page was published, according to the provider; empty if unknown.
	Date string
}

// Search returns the results in the provider's order. The error names the provider and its message, without the key.
func (c *Client) Search(ctx context.Context, q Query) ([]Result, error) {
	q.Most = min(max(q.Most, 1), MostResults)
	request, err := c.request(ctx, &q)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "jobgraph")
	answer, err := c.http.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // Without the address, which contains the query.
		}
		return nil, fmt.Errorf("%s does not answer: %w", c.settings.Provider, err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the answer of %s: %w", c.settings.Provider, err)
	case answer.StatusCode != http.StatusOK:
		return nil, c.refused(answer, body)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("the answer of %s has more than %d bytes", c.settings.Provider, maxAnswer)
	}
	results, err := c.results(body)
	if err != nil {
		return nil, fmt.Errorf("the answer of %s cannot be read: %w", c.settings.Provider, err)
	}
	return results[:min(len(results), q.Most)], nil
}

// refused is the error for an unsuccessful answer.
func (c *Client) refused(answer *http.Response, body []byte) error {
	hint := ""
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		hint = ": check its key"
		if c.settings.Provider == SearXNG {
			hint = ": its settings must allow the format json (search.formats)"
		}
	case http.StatusTooManyRequests:
		hint = ": its limit of requests is reached"
		if after := answer.Header.Get("Retry-After"); after != "" {
			hint += ", try again after " + after + " s"
		}
	}
	said := strings.Join(strings.Fields(string(body[:min(len(body), 200)])), " ")
	return fmt.Errorf("%s answers %s%s (%s)", c.settings.Provider, answer.Status, hint, strings.ToValidUTF8(said, ""))
}

// request makes the request of a search in the provider's form.
func (c *Client) request(ctx context.Context, q *Query) (*http.Request, error) {
	s := &c.settings
	switch s.Provider {
	case Brave:
		values := url.Values{"q": {q.Text}, "count": {strconv.Itoa(q.Most)}}
		if q.Since != "" {
			values.Set("freshness", "p"+q.Since[:1])
		}
		return get(ctx, s.Address+"/res/v1/web/search?"+values.Encode(), "X-Subscription-Token", s.Key)
	case Tavily:
		body := map[string]any{"query": q.Text, "max_results": q.Most}
		if q.Since != "" {
			body["time_range"] = q.Since
		}
		return post(ctx, s.Address+"/search", body, "Authorization", "Bearer "+s.Key)
	case Exa:
		body := map[string]any{"query": q.Text, "numResults": q.Most, "contents": map[string]any{"text": map[string]any{"maxCharacters": 500}}}
		if days, ok := map[string]int{"day": 1, "week": 7, "month": 31, "year": 366}[q.Since]; ok {
			body["startPublishedDate"] = q.Now.AddDate(0, 0, -days).UTC().Format(time.RFC3339)
		}
		return post(ctx, s.Address+"/search", body, "x-api-key", s.Key)
	}
	values := url.Values{"q": {q.Text}, "format": {"json"}}
	if q.Since != "" {
		values.Set("time_range", q.Since)
	}
	return get(ctx, s.Address+"/search?"+values.Encode(), "Accept", "application/json")
}

func get(ctx context.Context, address, header, value string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set(header, value)
	return request, nil
}

func post(ctx context.Context, address string, body any, header, value string) (*http.Request, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(header, value)
	return request, nil
}

// found is one result in the form of any of the providers.
type found struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	Content     string `json:"content"`
	Description string `json:"description"`
	Text        string `json:"text"`
	Published   string `json:"publishedDate"`
	PublishedOn string `json:"published_date"`
	PageAge     string `json:"page_age"`
	Age         string `json:"age"`
}

func (c *Client) results(body []byte) ([]Result, error) {
	var a struct {
		Results []found `json:"results"`
		Web     struct {
			Results []found `json:"results"`
		} `json:"web"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, err
	}
	if c.settings.Provider == Brave {
		a.Results = a.Web.Results
	}
	var list []Result
	for i := range a.Results {
		f := &a.Results[i]
		if f.URL == "" {
			continue
		}
		list = append(list, Result{
			Title: line(f.Title, 200), URL: f.URL, Text: line(cmp.Or(f.Content, f.Description, f.Text), 500),
			Date: line(cmp.Or(f.Published, f.PublishedOn, f.PageAge, f.Age), 40),
		})
	}
	return list, nil
}

// line returns a text on one line, without the marks that some providers put around matches, cut to this many bytes.
func line(text string, most int) string {
	text = strings.Join(strings.Fields(strings.NewReplacer("<strong>", "", "</strong>", "", "<b>", "", "</b>", "").Replace(text)), " ")
	if len(text) <= most {
		return strings.ToValidUTF8(text, "")
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
