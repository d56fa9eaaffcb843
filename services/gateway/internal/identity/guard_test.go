package identity_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobgraph/jobgraph/pkg/musttest"
	"github.com/jobgraph/jobgraph/pkg/verb"
	"github.com/jobgraph/jobgraph/services/gateway/internal/identity"
)

const start = "start-up-token-0123456789"

func keeper(t *testing.T, text string) (*identity.Keeper, string) {
	t.Helper()
	path := musttest.Temp(t, "tokens.yaml", text)
	k := musttest.Get(identity.NewKeeper(start, path, func(name string) (string, bool) { return "token-of-the-environment", name == "TOKEN" }))(t)
	return k, path
}

// digested is a token whose digest, sum, is in the file; nothing is the digest of no bytes.
const (
	digested = "token-of-a-digest-12345"
	sum      = "ccb64effe5ef3e359fbde9ff4159edfb941c9f3aed8220257c8ef354dff08950"
	nothing  = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func TestTokensAreThoseOfTheFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, path := keeper(t, "version: 1\ntokens:\n  - {user: anna, roles: [submitter, approver], token: '${TOKEN}'}\n  - {user: old, roles: [viewer], token: token-that-will-expire, expires: 2000-01-01T01:00:00Z}\n")
		anna, ok := k.Of("token-of-the-environment")
		if !ok || anna.User != "anna" || !anna.Has(verb.Approver) || anna.Has(verb.Operator) {
			t.Errorf("%v %v", anna, ok)
		}
		admin, ok := k.Of(start)
		if !ok || admin.User != "" || !admin.Has(verb.Operator) {
			t.Errorf("%v %v", admin, ok)
		}
		old, ok := k.Of("token-that-will-expire")
		if !ok {
			t.Error("expired too early")
		}
		<-time.After(time.Hour - time.Nanosecond)
		if _, ok := k.Of("token-that-will-expire"); !ok || !k.Valid(old) {
			t.Error("expired a moment too early")
		}
		<-time.After(time.Nanosecond)
		if _, ok := k.Of("token-that-will-expire"); ok || k.Valid(old) {
			t.Error("not expired")
		}
		for _, wrong := range []string{"", "x", start + "x", sum} {
			if _, ok := k.Of(wrong); ok {
				t.Errorf("%q is a token", wrong)
			}
		}
		musttest.Write(t, path, "version: 1\ntokens:\n  - {user: beatrix, roles: [submitter, approver], token: '${TOKEN}'}\n")
		if changed, err := k.Refresh(); !changed || err != nil || k.Valid(anna) {
			t.Error("who has begun with a token that is another's now goes on:", changed, err)
		}
		musttest.Write(t, path, "version: 1\ntokens:\n  - {user: anna, roles: [submitter], token: '${TOKEN}'}\n")
		if changed, err := k.Refresh(); !changed || err != nil || k.Valid(anna) {
			t.Error(changed, err, k.Valid(anna))
		}
		musttest.Write(t, path, "version: 1\ntokens: [{user: '', roles: [boss]}]\n")
		_, err := k.Refresh()
		for _, want := range []string{"no user is named", `unknown role "boss"`, "either sha256 or token", "tokens.yaml:2:"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %s", err, want)
			}
		}
		if _, ok := k.Of("token-of-the-environment"); !ok {
			t.Error("a file with faults took a token away")
		}
	})
}

// A token has at least 20 bytes, a digest 64 digits; the digest of no bytes is no token that everyone has.
func TestATokenIsGivenInFullOrAsItsDigest(t *testing.T) {
	for entry, ok := range map[string]bool{
		"sha256: " + sum: true, "sha256: " + sum[2:]: false, "sha256: " + sum + "00": false, "sha256: " + sum[1:] + "g": false, "token: 12345678901234567890": true, "token: 1234567890123456789": false,
	} {
		path := musttest.Temp(t, "tokens.yaml", "version: 1\ntokens: [{user: a, roles: [viewer], "+entry+"}]\n")
		if _, err := identity.NewKeeper("", path, nil); (err == nil) != ok {
			t.Errorf("%s: %v", entry, err)
		}
	}
	k, _ := keeper(t, "version: 1\ntokens: [{user: a, roles: [viewer], sha256: "+sum+"}, {user: b, roles: [admin], sha256: "+nothing+"}]\n")
	if who, ok := k.Of(digested); !ok || who.User != "a" {
		t.Errorf("%+v %v", who, ok)
	}
	if who, ok := k.Of(""); ok {
		t.Errorf("who has no token is %+v", who)
	}
}

// A file is read again if anything about it differs, also if it was replaced within the resolution of its time.
func TestAFileOfTokensIsReadAgainOnceItDiffers(t *testing.T) {
	text := func(user string) string {
		return "version: 1\ntokens: [{user: " + user + ", roles: [viewer], token: '${TOKEN}'}]\n"
	}
	k, path := keeper(t, text("ann"))
	read, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	is := func(user string, want bool) {
		t.Helper()
		if err := os.Chtimes(path, read.ModTime(), read.ModTime()); err != nil {
			t.Fatal(err)
		}
		changed, err := k.Refresh()
		if who, ok := k.Of("token-of-the-environment"); changed != want || err != nil || !ok || who.User != user {
			t.Errorf("changed %v, %v: the token is that of %q, want %q", changed, err, who.User, user)
		}
	}
	is("ann", false)
	musttest.Write(t, path, text("berta"))
	is("berta", true)
	is("berta", false)
	other := musttest.Temp(t, "other.yaml", text("clara"))
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	is("clara", true)
}

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	k, _ := keeper(t, "version: 1\ntokens: [{user: a, roles: [viewer], token: '${TOKEN}'}]\n")
	g := &identity.Guard{Keeper: k, Hosts: []string{"jobs.example.org"}, Origins: []string{"https://console.example.org"}, Cookie: "c"}
	for _, test := range []struct {
		host, origin, site string
		ok                 bool
	}{
		{"localhost:8420", "", "", true},
		{"127.0.0.1:8420", "", "", true},
		{"[::1]:8420", "", "", true},
		{"10.1.2.3", "", "", true},
		{"jobs.example.org", "", "", true},
		{"JOBS.example.org:8420", "", "", true},
		{"jobs.example.org.", "", "", true},
		{"localhost.:8420", "", "", true},
		{"evil.example.org:8420", "", "", false},
		{"localhost.evil.org", "", "", false},
		{"", "", "", false},
		{"localhost:8420", "http://localhost:8420", "same-origin", true},
		{"localhost:8420", "https://console.example.org", "cross-site", true},
		{"localhost:8420", "http://localhost:9999", "", false},
		{"localhost:8420", "https://evil.org", "", false},
		{"localhost:8420", "null", "", false},
		{"localhost:8420", "", "same-origin", true},
		{"localhost:8420", "", "none", true},
		{"localhost:8420", "", "cross-site", false},
		{"localhost:8420", "", "same-site", false},
	} {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/jobs", nil)
		r.Host = test.host
		if test.origin != "" {
			r.Header.Set("Origin", test.origin)
		}
		if test.site != "" {
			r.Header.Set("Sec-Fetch-Site", test.site)
		}
		if fault := g.Where(r); (fault == nil) != test.ok {
			t.Errorf("%+v: %v", test, fault)
		}
	}
}

func TestTheTokenOfAnAddressGoesIntoACookie(t *testing.T) {
	k, _ := keeper(t, "version: 1\ntokens: [{user: a, roles: [viewer], token: '${TOKEN}'}]\n")
	g := &identity.Guard{Keeper: k, Cookie: "c", Secure: true}
	w := httptest.NewRecorder()
	done, fault := g.Enter(w, httptest.NewRequest(http.MethodGet, "/?token="+start+"&job=j", nil))
	cookies := w.Result().Cookies()
	if !done || fault != nil || w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/?job=j" || len(cookies) != 1 {
		t.Fatal(done, fault, w.Code, w.Header())
	}
	if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || !c.Secure || c.Path != "/" {
		t.Errorf("%+v", c)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.AddCookie(cookies[0])
	if who, fault := g.Who(r); fault != nil || !who.Has(verb.Admin) {
		t.Error(who, fault)
	}
	for header, ok := range map[string]bool{"Bearer wrong": false, "Bearer": false, "Basic " + start: false, start: false, "Bearer " + start: true, "bearer  " + start: true} {
		r.Header.Set("Authorization", header)
		if _, fault := g.Who(r); (fault == nil) != ok { // A wrong header is not passed over for the cookie.
			t.Errorf("%q: %v", header, fault)
		}
	}
	w = httptest.NewRecorder()
	if done, fault := g.Enter(w, httptest.NewRequest(http.MethodGet, "/?token=wrong", nil)); !done || fault == nil || len(w.Result().Cookies()) != 0 {
		t.Error(done, fault, w.Header())
	}
}

func TestEachUserHasTheirOwnRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := identity.NewLimits(2)
		got := []bool{l.Allow("a", 1), l.Allow("a", 1), l.Allow("a", 1), l.Allow("b", 1)}
		if want := []bool{true, true, false, true}; !equal(got, want) {
			t.Error(got)
		}
		<-time.After(500 * time.Millisecond)
		if !l.Allow("a", 1) || l.Allow("a", 1) {
			t.Error("half a second gives one request")
		}
	})
}

func equal(a, b []bool) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// A client certificate identifies a user by a URI or by its common name; a token or cookie takes precedence.
func TestACertificateIsAUser(t *testing.T) {
	k, path := keeper(t, "version: 1\ntokens:\n  - {user: anna, roles: [submitter], certificate: 'spiffe://acme/anna'}\n  - {user: ci, roles: [operator], certificate: ci.acme}\n  - {user: boss, roles: [admin], token: '${TOKEN}'}\n")
	g := &identity.Guard{Keeper: k, Cookie: "c"}
	ask := func(verified bool, name string, uris ...string) *http.Request {
		c := &x509.Certificate{Subject: pkix.Name{CommonName: name}}
		for _, text := range uris {
			uri := musttest.Get(url.Parse(text))(t)
			c.URIs = append(c.URIs, uri)
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}}
		if verified {
			r.TLS.VerifiedChains = [][]*x509.Certificate{{c}}
		}
		return r
	}
	anna, fault := g.Who(ask(true, "x", "spiffe://acme/other", "spiffe://acme/anna"))
	if fault != nil || anna.User != "anna" || !anna.Has(verb.Submitter) || anna.Has(verb.Operator) || !k.Valid(anna) {
		t.Errorf("%+v %v", anna, fault)
	}
	if ci, fault := g.Who(ask(true, "ci.acme")); fault != nil || ci.User != "ci" {
		t.Errorf("%+v %v", ci, fault)
	}
	for name, r := range map[string]*http.Request{
		"another name": ask(true, "anna"), "no name": ask(true, ""), "not verified": ask(false, "ci.acme"), "a URI as common name of nobody": ask(true, "spiffe://acme"), "the name of a token's user": ask(true, "boss"),
	} {
		if who, fault := g.Who(r); fault == nil {
			t.Errorf("%s is %+v", name, who)
		}
	}
	for _, text := range []string{"spiffe://acme/anna", "ci.acme"} {
		if who, ok := k.Of(text); ok {
			t.Errorf("the name of a certificate is the token of %+v", who)
		}
	}
	both := ask(true, "ci.acme")
	both.Header.Set("Authorization", "Bearer token-of-the-environment")
	if who, fault := g.Who(both); fault != nil || who.User != "boss" {
		t.Errorf("%+v %v", who, fault)
	}
	musttest.Write(t, path, "version: 1\ntokens: [{user: ci, roles: [operator], certificate: ci.acme}]\n")
	if changed, err := k.Refresh(); !changed || err != nil || k.Valid(anna) {
		t.Error(changed, err, k.Valid(anna))
	}
	musttest.Write(t, path, "version: 1\ntokens: [{user: ci, roles: [operator], certificate: ci.acme, token: token-of-some-length-0}]\n")
	if _, err := k.Refresh(); err == nil || !strings.Contains(err.Error(), "either sha256 or token or certificate") {
		t.Error(err)
	}
}

// Most of the places may be one user's. The last ones are for those who have few.
func TestOneUserLeavesPlacesForOthers(t *testing.T) {
	p := identity.NewPlaces(16)
	took := func(user string) (n int) {
		for p.Take(user) {
			n++
		}
		return n
	}
	if got := []int{took("a"), took("b"), took("c"), took("a")}; !slices.Equal(got, []int{14, 2, 0, 0}) {
		t.Errorf("a, b, c and a again took %v", got)
	}
	p.Give("b")
	if got := []int{took("a"), took("c")}; !slices.Equal(got, []int{0, 1}) {
		t.Errorf("after b gave one back, a and c took %v", got)
	}
	for range 14 {
		p.Give("a")
	}
	if got := took("a"); got != 12 { // Others hold two, and two are kept.
		t.Errorf("a took %d", got)
	}
	if p := identity.NewPlaces(1); !p.Take("a") || p.Take("b") {
		t.Error("a single place")
	}
	if identity.NewPlaces(0).Take("a") {
		t.Error("no place")
	}
}
