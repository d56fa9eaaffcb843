package a2a

import (
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/jobgraph/jobgraph/pkg/egress"
)

// maxRedirects limits the redirects of one call.
const maxRedirects = 5

// dialTime limits the time to connect.
const dialTime = 15 * time.Second

// dialer opens connections: anywhere for hosts in the configuration, for others only to public or allowed addresses. It
// uses no proxy, and each connection serves one call, so that no connection turns out closed after a message was written.
type dialer struct {
	open, guarded *http.Transport
	// trusted are hosts with ports, as written in URLs.
	trusted map[string]bool
	headers map[string]string
}

func newDialer(allow []netip.Prefix, headers map[string]string, trusted ...string) *dialer {
	guard := &egress.Guard{Allow: allow}
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

// RoundTrip implements http.RoundTripper. Secret headers go to trusted hosts only.
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

// checkRedirect follows a redirect within the host if the method stays the same. Any other redirect is the answer.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || next.Method != first.Method || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}
