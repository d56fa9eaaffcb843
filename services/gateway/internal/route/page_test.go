package route_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/console"
)

// browse makes a request like a browser that opens a page.
func (s *site) browse(path string) *http.Request {
	s.Helper()
	r := s.request("", http.MethodGet, path, "")
	r.Header.Set("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
	return r
}

func TestABrowserGetsTheConsoleWhichHasNoData(t *testing.T) {
	s := open(t, nil, nil)
	for path, status := range map[string]int{"/": http.StatusOK, "/?token=stale-stale-stale-stale": http.StatusUnauthorized} {
		answer, body := s.do(s.browse(path))
		if answer.StatusCode != status || body != string(console.Page().Body) || answer.Header.Get("Content-Security-Policy") != console.Policy ||
			!strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html") || answer.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %v\n%s", path, answer.StatusCode, answer.Header, body)
		}
	}
	answer, _ := s.do(s.browse("/?token=" + token(verb.Viewer)))
	if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/" || !strings.Contains(answer.Header.Get("Set-Cookie"), "HttpOnly") {
		t.Errorf("a valid token: %d %v", answer.StatusCode, answer.Header)
	}
	foreign := s.browse("/")
	foreign.Host = "rebound.example.org"
	s.refused(foreign, http.StatusForbidden, events.CodeNotPermitted)
}

func TestAssetsAreKeptByBrowsersUntilTheyChange(t *testing.T) {
	s := open(t, nil, nil)
	for name, media := range map[string]string{"app.js": "text/javascript; charset=utf-8", "app.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"} {
		r := s.request("", http.MethodGet, "/assets/"+name, "")
		answer, body := s.do(r)
		want, _ := console.Asset(name)
		tag := answer.Header.Get("ETag")
		if answer.StatusCode != http.StatusOK || body != string(want.Body) || answer.Header.Get("Content-Type") != media || tag == "" || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", name, answer.StatusCode, answer.Header)
		}
		r = s.request("", http.MethodGet, "/assets/"+name, "")
		r.Header.Set("If-None-Match", tag)
		if answer, body := s.do(r); answer.StatusCode != http.StatusNotModified || body != "" {
			t.Errorf("%s again: %d", name, answer.StatusCode)
		}
	}
	s.refused(s.request(verb.Viewer, http.MethodGet, "/assets/doc.go", ""), http.StatusNotFound, events.CodeNotFound)
	foreign := s.request("", http.MethodGet, "/assets/app.js", "")
	foreign.Host = "rebound.example.org"
	s.refused(foreign, http.StatusForbidden, events.CodeNotPermitted)
}
