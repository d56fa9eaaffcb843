package a2a

import (
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/tool"
)

// maxRedirects bounds the redirects that one call follows.
const maxRedirects = 5

// dialTime bounds how long a connection may take.
const dialTime = 15 * time.Second

// dialer makes connections: anywhere for the hosts that the configuration names, for others to public addresses and those that
// are allowed. It uses no proxy, and a connection serves one call, so that none is found closed after a message was written.
type dialer struct {
	open, guarded *http.Transport
	// trusted are hosts with ports, as URLs have them.
	trusted map[string]bool
	headers map[string]string
}

func newDialer(allow []netip.Prefix, headers map[string]string, trusted ...string) *dialer {
	guard := &tool.Guard{Allow: allow}
	make := func(d *net.Dialer) *http.Transport {
		return &http.Transport{
			DialContext: d.DialContext, TLSHandshakeTimeout: dialTime, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
		}
	}
	d := &dialer{
		open: make(&net.Dialer{Timeout: dialTime}), guarded: make(&net.Dialer{Timeout: dialTime, Control: guard.Control}),
		trusted: map[string]bool{}, headers: headers,
	}
	for _, host := range trusted {
		d.trusted[host] = true
	}
	return d
}

// RoundTrip implements http.RoundTripper. The secrets go to trusted hosts alone.
func (d *dialer) RoundTrip(r *http.Request) (*http.Response, error) {
	if !d.trusted[r.URL.Host] {
		return d.guarded.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	for name, value := range d.headers {
		r.Header.Set(name, value)
		if http.CanonicalHeaderKey(name) == "Host" {
			r.Host = value
		}
	}
	return d.open.RoundTrip(r)
}

// checkRedirect follows a redirect within the host, if the method stays what it was. Any other is the answer.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || next.Method != first.Method || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}
