package main_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// web serves the calls of experts of kind http: it returns the path and the authorization of the call, and refuses paths that end
// in /0; on /search it answers like SearXNG. On paths that end in /hangup it closes the connection without an answer.
func web(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: web")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/search" {
			found := []map[string]string{{"title": "First", "url": "https://a.example/" + r.URL.Query().Get("q")}, {"title": "Second", "url": "https://b.example"}}
			_ = json.NewEncoder(w).Encode(map[string]any{"results": found})
			return
		}
		if strings.HasSuffix(r.URL.Path, "/0") {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"error":"there is no order 0"}`))
			return
		}
		if strings.HasSuffix(r.URL.Path, "/hangup") {
			panic(http.ErrAbortHandler)
		}
		known := r.Header.Get("Authorization") == "Bearer s3cret"
		_ = json.NewEncoder(w).Encode(map[string]any{"paid": r.URL.Path, "known": known, "key": r.Header.Get("Idempotency-Key")})
	}))
	ts.Defer(s.Close)
	ts.Setenv("WEB_URL", s.URL)
}
