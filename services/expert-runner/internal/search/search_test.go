package search_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/search"
)

// asked is a request as a provider got it.
type asked struct {
	Method, Path, Key string
	Body              map[string]any
}

func serve(t *testing.T, status int, answer string) (string, *asked) {
	t.Helper()
	var got asked
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = asked{Method: r.Method, Path: r.URL.RequestURI()}
		for _, header := range []string{"X-Subscription-Token", "Authorization", "X-Api-Key"} {
			got.Key += r.Header.Get(header)
		}
		if body, _ := io.ReadAll(r.Body); len(body) > 0 {
			if err := json.Unmarshal(body, &got.Body); err != nil {
				t.Error(err)
			}
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL, &got
}

func TestEveryProviderIsAskedInItsOwnForm(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	tests := map[search.Provider]struct {
		answer string
		asked  asked
		want   []search.Result
	}{
		search.SearXNG: {
			`{"results":[{"title":"A  title","url":"https://a.example","content":"text\nof a","publishedDate":"2026-11-20"},{"title":"no address"}]}`,
			asked{Method: "GET", Path: "/search?format=json&q=two+words&time_range=week"},
			[]search.Result{{Title: "A title", URL: "https://a.example", Text: "text of a", Date: "2026-11-20"}},
		},
		search.Brave: {
			`{"web":{"results":[{"title":"B","url":"https://b.example","description":"text <strong>of</strong> b","age":"2 days ago"}]}}`,
			asked{Method: "GET", Path: "/res/v1/web/search?count=3&freshness=pw&q=two+words", Key: "secret"},
			[]search.Result{{Title: "B", URL: "https://b.example", Text: "text of b", Date: "2 days ago"}},
		},
		search.Tavily: {
			`{"results":[{"title":"C","url":"https://c.example","content":"text of c","score":0.9}]}`,
			asked{Method: "POST", Path: "/search", Key: "Bearer secret", Body: map[string]any{"query": "two words", "max_results": 3.0, "time_range": "week"}},
			[]search.Result{{Title: "C", URL: "https://c.example", Text: "text of c"}},
		},
		search.Exa: {
			`{"results":[{"title":"D","url":"https://d.example","text":"text of d","publishedDate":"2026-11-19T00:00:00Z"}]}`,
			asked{Method: "POST", Path: "/search", Key: "secret", Body: map[string]any{
				"query": "two words", "numResults": 3.0, "contents": map[string]any{"text": map[string]any{"maxCharacters": 500.0}}, "startPublishedDate": "2026-11-17T12:00:00Z",
			}},
			[]search.Result{{Title: "D", URL: "https://d.example", Text: "text of d", Date: "2026-11-19T00:00:00Z"}},
		},
	}
	for provider, test := range tests {
		t.Run(string(provider), func(t *testing.T) {
			address, got := serve(t, http.StatusOK, test.answer)
			c := musttest.Get(search.New(search.Settings{Provider: provider, Address: address + "/", Key: "secret"}))(t)
			defer c.Close()
			results, err := c.Search(t.Context(), search.Query{Text: "two words", Most: 3, Since: "week", Now: now})
			if diff := cmp.Diff(test.want, results); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
			musttest.Equal(t, test.asked, *got)
		})
	}
}

func TestARefusalSaysWhatToDo(t *testing.T) {
	for status, want := range map[int]string{401: "check its key", 429: "its limit of requests is reached", 500: "brave answers 500"} {
		address, _ := serve(t, status, "no")
		c := musttest.Get(search.New(search.Settings{Provider: search.Brave, Address: address, Key: "secret"}))(t)
		if _, err := c.Search(t.Context(), search.Query{Text: "x"}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%d: %v", status, err)
		}
		c.Close()
	}
	address, _ := serve(t, http.StatusOK, "<html>")
	c := musttest.Get(search.New(search.Settings{Address: address}))(t)
	defer c.Close()
	if _, err := c.Search(t.Context(), search.Query{Text: "x"}); err == nil || !strings.Contains(err.Error(), "searxng cannot be read") {
		t.Errorf("got %v", err)
	}
}

func TestSettingsThatCannotWorkAreRefused(t *testing.T) {
	for want, s := range map[string]search.Settings{
		`there is no provider "bing"`: {Provider: "bing", Key: "k"},
		"needs its address":           {Provider: search.SearXNG},
		"exa needs a key":             {Provider: search.Exa},
		"is no address of a server":   {Address: "localhost:8080"},
	} {
		if _, err := search.New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
