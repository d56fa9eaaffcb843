package tool

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/egress"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// relaying is a client whose connections go through a relay behind a guard; over is closed when the relay has ended.
func relaying(ctx context.Context, t *testing.T, g egress.Guard) (client *http.Client, line net.Conn, over <-chan struct{}) {
	t.Helper()
	listen := musttest.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	line = musttest.Get(new(net.Dialer).DialContext(t.Context(), "tcp", listen.Addr().String()))(t)
	theirs := musttest.Get(listen.Accept())(t)
	_ = listen.Close() // There is only one connection.
	done := make(chan struct{})
	go func() { defer close(done); Relay(ctx, g, theirs) }() // Ends with the line.
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(func() { _ = line.Close(); <-done })
	return &http.Client{Transport: &http.Transport{
		Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) { return line, nil },
	}}, line, done
}

func ask(t *testing.T, client *http.Client, to, body string) (int, string) {
	t.Helper()
	request := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, "http://relay/?to="+url.QueryEscape(to), strings.NewReader(body)))(t)
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	said := musttest.Get(io.ReadAll(answer.Body))(t)
	return answer.StatusCode, string(said)
}

func TestARelayReachesWhatItsGuardPermits(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)                       // The test sees what arrived.
		_, _ = io.WriteString(w, r.Method+" "+string(body)) // The test sees what arrived.
	}))
	defer site.Close()
	address := strings.TrimPrefix(site.URL, "http://")
	client, _, _ := relaying(t.Context(), t, egress.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	const request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
	for range 3 {
		if code, said := ask(t, client, address, request); code != http.StatusOK || !strings.HasSuffix(said, "POST hello") {
			t.Errorf("%d %s", code, said)
		}
	}
	for to, want := range map[string]string{"10.0.0.1:80": "10.0.0.1 is not a public address", "[::ffff:10.0.0.1]:80": "is not a public address", "nonsense": "missing port", "": "missing"} {
		if code, said := ask(t, client, to, ""); code != http.StatusBadGateway || !strings.Contains(said, want) {
			t.Errorf("%q: %d %s", to, code, said)
		}
	}
	strict, _, _ := relaying(t.Context(), t, egress.Guard{})
	if code, said := ask(t, strict, "localhost"+address[strings.LastIndex(address, ":"):], request); code != http.StatusBadGateway || !strings.Contains(said, "is not a public address") {
		t.Errorf("%d %s", code, said)
	}
}

func TestARelayEndsWithItsLineAndItsRun(t *testing.T) {
	_, line, over := relaying(t.Context(), t, egress.Guard{})
	_ = line.Close() // The program has ended.
	<-over
	ctx, end := context.WithCancel(t.Context())
	_, _, over = relaying(ctx, t, egress.Guard{})
	end()
	<-over
}
