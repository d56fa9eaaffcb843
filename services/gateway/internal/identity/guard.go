package identity

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Guard checks requests before they are answered.
type Guard struct {
	// Keeper knows the tokens.
	Keeper *Keeper
	// Hosts are names under which this gateway is reached, besides localhost and addresses.
	Hosts []string
	// Origins are sites whose pages may call the API, as in https://console.example.org; the gateway's own always may.
	Origins []string
	// Cookie is the name of the cookie that holds a token.
	Cookie string
	// Secure restricts the cookie to TLS.
	Secure bool
}

// Where refuses a request because of where it comes from: for a host name that is not ours, or from a page of another site.
func (g *Guard) Where(r *http.Request) *events.Fault {
	name := hostOf(r.Host)
	if !g.Ours(r) {
		return &events.Fault{
			Code: events.CodeNotPermitted, Field: "Host", Message: "this server is not known as " + quoted(name),
			Hint: "use its address, or name it in --hosts (JOBGRAPH_HOSTS)",
		}
	}
	foreign := &events.Fault{
		Code: events.CodeNotPermitted, Field: "Origin", Message: "a page of another site may not call this API", Hint: "name the site in --origins (JOBGRAPH_ORIGINS) if it may",
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if slices.Contains(g.Origins, origin) {
			return nil
		}
		at, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(at.Host, r.Host) {
			return foreign
		}
		return nil
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return foreign
	}
	return nil
}

// Ours reports whether the host name of a request cannot have been bound to this address by a stranger's DNS.
func (g *Guard) Ours(r *http.Request) bool {
	name := hostOf(r.Host)
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return strings.EqualFold(name, "localhost") || slices.ContainsFunc(g.Hosts, func(ours string) bool { return strings.EqualFold(ours, name) })
}

// hostOf returns the host without its port and brackets.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(strings.Trim(host, "[]"), ".")
}

func quoted(name string) string {
	if name == "" {
		return "a server without a name"
	}
	if len(name) > 80 {
		name = name[:80]
	}
	return `"` + strings.ToValidUTF8(name, "?") + `"`
}

// Who returns the identity behind a request: from the header Authorization, else the cookie, else the client's certificate.
func (g *Guard) Who(r *http.Request) (Identity, *events.Fault) {
	token, header := "", r.Header.Get("Authorization")
	if header != "" {
		scheme, text, _ := strings.Cut(header, " ")
		if strings.EqualFold(scheme, "Bearer") {
			token = strings.TrimSpace(text)
		}
	} else if c, err := r.Cookie(g.Cookie); err == nil {
		token = c.Value
	}
	if token == "" && r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		if who, ok := g.Keeper.ByCertificate(r.TLS.PeerCertificates[0]); ok {
			return who, nil
		}
		return Identity{}, &events.Fault{Code: events.CodeUnauthenticated, Message: "no user has the client certificate " + quoted(r.TLS.PeerCertificates[0].Subject.CommonName), Hint: "name its URI or common name as `certificate` in the file of tokens, or send Authorization: Bearer TOKEN"}
	}
	if who, ok := g.Keeper.Of(token); ok {
		return who, nil
	}
	if token == "" && header != "" {
		return Identity{}, &events.Fault{Code: events.CodeUnauthenticated, Field: "Authorization", Message: "the header has no Bearer token", Hint: "send Authorization: Bearer TOKEN"}
	}
	if token == "" {
		return Identity{}, &events.Fault{Code: events.CodeUnauthenticated, Message: "there is no token", Hint: "send Authorization: Bearer TOKEN; in a browser, open the address with ?token=… that `jobgraph up` prints"}
	}
	return Identity{}, &events.Fault{Code: events.CodeUnauthenticated, Message: "the token is unknown, revoked or expired", Hint: "a start-up token ends with its process: take the one that `jobgraph up` has printed last; others are in the file of tokens (--tokens)"}
}

// Enter moves the token of an address with ?token=… into a cookie and redirects to the address without it; done is false if the
// address has none. An invalid token gets no cookie.
func (g *Guard) Enter(w http.ResponseWriter, r *http.Request) (done bool, fault *events.Fault) {
	query := r.URL.Query()
	token := query.Get("token")
	if token == "" {
		return false, nil
	}
	if _, ok := g.Keeper.Of(token); !ok {
		return true, &events.Fault{Code: events.CodeUnauthenticated, Field: "token", Message: "the token is unknown, revoked or expired", Hint: "a start-up token ends with its process: take the address that `jobgraph up` has printed last"}
	}
	http.SetCookie(w, &http.Cookie{Name: g.Cookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: g.Secure})
	query.Del("token")
	to := url.URL{Path: "/", RawQuery: query.Encode()}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
	return true, nil
}
