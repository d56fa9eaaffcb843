package tool_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/jobgraph/jobgraph/pkg/egress"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// web is the tool behind a guard.
func web(t *testing.T, allow ...string) func(address string) (string, error) {
	t.Helper()
	g := egress.Guard{}
	for _, text := range allow {
		g.Allow = append(g.Allow, netip.MustParsePrefix(text))
	}
	w := tool.NewWeb(g)
	t.Cleanup(w.Close)
	return func(address string) (string, error) {
		return w.Tool().Call(t.Context(), tool.Call{Args: fmt.Sprintf(`{"url":%q}`, address)})
	}
}

func site(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/far":
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/large":
			_, _ = w.Write([]byte(strings.Repeat("x", tool.MaxFetched+1))) // The reader may be gone.
		case "/binary":
			_, _ = w.Write([]byte{0xff, 0xfe, 0xfd}) // The reader may be gone.
		case "/gone":
			http.Error(w, "nothing here", http.StatusNotFound)
		default:
			_, _ = w.Write([]byte("hello")) // The reader may be gone.
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func TestAPageIsFetchedWithItsStatus(t *testing.T) {
	s, fetch := site(t), web(t, "127.0.0.0/8")
	for path, want := range map[string]string{
		"/": "200 OK text/plain\nhello", "/gone": "404 Not Found text/plain\nnothing here\n", "/binary": "200 OK text/plain\n[no text: 3 bytes]",
	} {
		if got, err := fetch(s.URL + path); err != nil || got != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	got, err := fetch(s.URL + "/large")
	if err != nil || !strings.HasSuffix(got, fmt.Sprintf("\n[bytes 0 to %d of %d; go on with offset %d]", tool.MaxFetched, tool.MaxFetched+1, tool.MaxFetched)) {
		t.Errorf("%.100q, %v", got, err)
	}
}

func TestOnlyPublicAndAllowedAddressesAreReached(t *testing.T) {
	s := site(t)
	refused := web(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	for _, address := range []string{
		s.URL, "http://localhost:" + port, "http://[::1]:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://0.0.0.0:" + port, "http://10.0.0.1", "http://192.168.1.1",
		"http://172.16.0.1", "http://169.254.169.254", "http://100.64.0.1", "http://[fe80::1]", "http://[fd00::1]", "http://[64:ff9b::7f00:1]",
		"http://[2002:7f00:1::]", "http://224.0.0.1", "http://255.255.255.255", "http://[ff02::1]",
	} {
		if got, err := refused(address); err == nil || !strings.Contains(err.Error(), "is not a public address") {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
	// The allowed range permits nothing beyond it.
	allowed := web(t, "127.0.0.1/32")
	if _, err := allowed(s.URL + "/far"); err == nil || !strings.Contains(err.Error(), "169.254.169.254 is not a public address") {
		t.Error(err)
	}
	if _, err := allowed(s.URL + "/round"); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Error(err)
	}
	for _, address := range []string{s.URL + "/file", "file:///etc/passwd", "ftp://example.com", "http://", "gopher", "http://user:word@example.com"} {
		if got, err := allowed(address); err == nil {
			t.Errorf("%s: %q", address, got)
		}
	}
}

func TestAFetchEndsWithItsContext(t *testing.T) {
	reached := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(reached)
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	w := tool.NewWeb(egress.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	t.Cleanup(w.Close)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := w.Tool().Call(ctx, tool.Call{Args: fmt.Sprintf(`{"url":%q}`, s.URL)})
		ended <- err
	}()
	<-reached
	stop()
	if err := <-ended; err == nil {
		t.Error("it has an answer")
	}
}
