package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// Plain and encrypted requests go through the relay; a refusal is answered with its reason, which is remembered.
func TestEverythingGoesOverTheRelay(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)                             // The test sees what arrived.
		_, _ = io.WriteString(w, r.Method+" "+string(body)+" ok") // The test sees what arrived.
	})
	plain, secure := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer plain.Close()
	defer secure.Close()
	r := &relay{allowed: func(address string) bool { return strings.HasPrefix(address, "127.0.0.1:") }}
	p, err := newProxy(r.line(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	through, err := url.Parse(p.address())
	if err != nil {
		t.Fatal(err)
	}
	client := secure.Client()
	transport, is := client.Transport.(*http.Transport)
	if !is {
		t.Fatalf("%T", client.Transport)
	}
	transport.Proxy = http.ProxyURL(through)
	for _, address := range []string{plain.URL, secure.URL, plain.URL} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(strings.Repeat("x", 100_000)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(got.Body)
		_ = got.Body.Close()
		if err != nil || got.StatusCode != http.StatusOK || len(text) != len("POST  ok")+100_000 {
			t.Errorf("%s: %d, %d bytes, %v", address, got.StatusCode, len(text), err)
		}
	}
	for _, address := range []string{strings.TrimPrefix(plain.URL, "http://"), strings.TrimPrefix(secure.URL, "https://")} {
		if !slices.Contains(r.to(), address) {
			t.Errorf("%s is not among %q", address, r.to())
		}
	}
	for _, address := range []string{"http://10.0.0.1/", "https://10.0.0.2/"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := client.Do(request); err == nil {
			text, _ := io.ReadAll(got.Body) // As much as could be read.
			_ = got.Body.Close()
			if got.StatusCode != http.StatusBadGateway || !strings.Contains(string(text), "not a public address") {
				t.Errorf("%s: %d %s", address, got.StatusCode, text)
			}
		}
	}
	if why := p.why("10.0.0.1"); why != "10.0.0.1:80 is not a public address" {
		t.Errorf("%q", why)
	}
	if why := p.why("10.0.0.2"); why != "10.0.0.2:443 is not a public address" {
		t.Errorf("%q", why)
	}
}

// Without the runner nothing can be reached, and the browser learns why.
func TestWithoutTheRunnerThereIsNoWay(t *testing.T) {
	reached := httptest.NewServer(http.NotFoundHandler())
	defer reached.Close()
	r := &relay{allowed: func(string) bool { return true }}
	p, err := newProxy(r.line(t))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	address := strings.TrimPrefix(reached.URL, "http://")
	way, err := p.dial(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	_ = way.Close()
	r.end()
	if _, err := p.dial(t.Context(), address); err == nil {
		t.Error("it was reached")
	}
	if why := p.why("127.0.0.1"); why == "" {
		t.Error("there is no reason")
	}
}

func TestOnlyWebAddressesAreOpened(t *testing.T) {
	for address, fine := range map[string]bool{
		"https://example.org/a?b": true, " http://example.org ": true, "file:///etc/passwd": false, "chrome://version": false, "javascript:alert(1)": false,
		"about:blank": false, "https://ann:secret@example.org": false, "example.org": false, "": false, "data:text/html,x": false, "view-source:http://example.org": false,
	} {
		if _, err := webAddress(address); (err == nil) != fine {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestALongPageIsReadInParts(t *testing.T) {
	s := &Seen{Title: "T", Address: "http://x/", Text: strings.Repeat("ä", MaxText), Elements: []string{"[1] link"}, More: true}
	first := s.format(0)
	if !strings.Contains(first, "further bytes: read with offset 32768]") || !strings.Contains(first, "elements\n[1] link\n[further elements") {
		t.Errorf("%s", first[len(first)-200:])
	}
	second := s.format(MaxText + 1) // In the middle of a character.
	if !strings.HasPrefix(second, "T\nhttp://x/\n\nää") || strings.Contains(second, "elements") || strings.Contains(second, "further bytes") {
		t.Errorf("%.40s … %s", second, second[len(second)-60:])
	}
	if got := s.format(1 << 30); got != "T\nhttp://x/\n\n" {
		t.Errorf("%q", got)
	}
}
