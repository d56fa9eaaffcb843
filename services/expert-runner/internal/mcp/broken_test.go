package mcp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// A call over HTTP that reached the server may have taken effect, whatever happens to the connection; only what the server itself
// rejects was certainly not done.
func TestACallWhoseAnswerIsLostIsUnknown(t *testing.T) {
	for name, test := range map[string]struct {
		answer  func(w http.ResponseWriter)
		unknown bool
		word    string
	}{
		"the connection breaks": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, true, "broke off"},
		"half an answer": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":`)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, true, "broke off"},
		"a bad gateway":        {func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, true, "502"},
		"a gateway that waits": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusGatewayTimeout) }, true, "504"},
		"no room":              {func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, false, "refuses the call"},
		"too many":             {func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, false, "refuses the call"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer("good")
			good := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err == nil && bytes.Contains(body, []byte(`"tools/call"`)) {
					test.answer(w)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				good.ServeHTTP(w, r)
			}))
			t.Cleanup(func() {
				web.CloseClientConnections()
				web.Close()
			})
			pay := opened(t, pool(t, Server{URL: web.URL}), "pay")
			_, err := pay.Call(t.Context(), tool.Call{Args: `{}`})
			if err == nil || errors.Is(err, expert.ErrUnknown) != test.unknown || !strings.Contains(err.Error(), test.word) {
				t.Errorf("unknown %v: %v", errors.Is(err, expert.ErrUnknown), err)
			}
		})
	}
}
