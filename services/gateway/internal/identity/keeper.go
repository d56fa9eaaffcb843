package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// Identity is the user behind a request.
type Identity struct {
	// User is the name in requests, answers and logs; empty for the holder of the start-up token, who may act for any user.
	User string
	// Roles decide which verbs the user may use.
	Roles []verb.Role

	digest      digest
	certificate string // The name in the client certificate that was used; empty for a token.
}

// Name is the user for logs.
func (i Identity) Name() string {
	if i.User == "" {
		return "start-up token"
	}
	return i.User
}

// Has reports whether the identity has one of some roles, or is an admin.
func (i Identity) Has(roles ...verb.Role) bool {
	return slices.ContainsFunc(i.Roles, func(r verb.Role) bool { return r == verb.Admin || slices.Contains(roles, r) })
}

// digest is the SHA-256 of a token.
type digest [sha256.Size]byte

// NewToken makes a random token of 26 characters.
func NewToken() string { return rand.Text() }

// leastToken is the minimum length of a token, in bytes.
const leastToken = 20

// File is the form of the file of tokens.
type File struct {
	// Tokens are the valid tokens.
	Tokens []Token `yaml:"tokens"`
}

// Token is one token with its user and roles.
type Token struct {
	// User is the owner. One user may have several tokens, so that they can be replaced one after the other.
	User string `yaml:"user"`
	// Roles are viewer, submitter, approver, operator and admin.
	Roles []string `yaml:"roles"`
	// SHA256 is the digest of the token in hexadecimal; Token is the token itself, as "${VAR}" or "${file:PATH}"; Certificate is a
	// name in a client certificate instead: a URI of its alternative names, or the common name of its subject. Exactly one of the
	// three is set.
	SHA256      string      `yaml:"sha256"`
	Token       host.Secret `yaml:"token"`
	Certificate string      `yaml:"certificate"`
	// Expires is when the token expires, as in 2027-01-31T00:00:00Z; empty for never.
	Expires string `yaml:"expires"`
}

// Validate implements host.Validator.
func (f *File) Validate() error {
	var faults events.Faults
	bad := func(at int, field, message, hint string) {
		faults = append(faults, events.Fault{Code: events.CodeInvalid, Field: fmt.Sprintf("tokens[%d].%s", at, field), Message: message, Hint: hint})
	}
	if len(f.Tokens) == 0 {
		faults = append(faults, events.Fault{Code: events.CodeMissing, Field: "tokens", Message: "the file has no token", Hint: "tokens: [{user: anna, roles: [admin], sha256: …}]"})
	}
	for at, t := range f.Tokens {
		if t.User == "" {
			bad(at, "user", "no user is named", "a token belongs to one user")
		}
		if len(t.Roles) == 0 {
			bad(at, "roles", "there is no role", "give some of viewer, submitter, approver, operator, admin")
		}
		for _, role := range t.Roles {
			if !slices.Contains(verb.Roles(), verb.Role(role)) {
				bad(at, "roles", fmt.Sprintf("unknown role %.40q", role), "use viewer, submitter, approver, operator, admin")
			}
		}
		if _, err := t.digest(); err != nil {
			bad(at, "sha256", err.Error(), "printf %s TOKEN | sha256sum")
		}
		if _, err := t.until(); err != nil {
			bad(at, "expires", "not a time: "+err.Error(), "2027-01-31T00:00:00Z")
		}
	}
	return faults.OrNil()
}

func (t *Token) digest() (d digest, err error) {
	given := 0
	for _, text := range []string{t.SHA256, string(t.Token), t.Certificate} {
		if text != "" {
			given++
		}
	}
	if given != 1 {
		return d, fmt.Errorf("give either sha256 or token or certificate")
	}
	if t.Certificate != "" {
		return d, nil
	}
	if t.Token != "" {
		if len(t.Token) < leastToken {
			return d, fmt.Errorf("the token has %d bytes, at least %d", len(t.Token), leastToken)
		}
		return sha256.Sum256([]byte(t.Token)), nil
	}
	raw, err := hex.DecodeString(t.SHA256)
	if err != nil || len(raw) != len(d) {
		return d, fmt.Errorf("the digest has to be 64 hexadecimal digits")
	}
	return digest(raw), nil
}

func (t *Token) until() (time.Time, error) {
	if t.Expires == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339, t.Expires)
}

// holder is the owner of a token, until an expiry.
type holder struct {
	Identity
	until time.Time
}

// holders are the entries of a file, by the digests of their tokens or the names in their certificates.
type holders struct {
	tokens       map[digest]holder
	certificates map[string]holder
}

// Keeper knows the valid tokens. It is safe for concurrent use.
type Keeper struct {
	path    string
	env     host.Env
	start   digest
	hasOne  bool // There is a start-up token.
	now     func() time.Time
	holders atomic.Pointer[holders]
	seen    os.FileInfo // Of the file as last read. Belongs to the goroutine of Refresh.
}

// NewKeeper reads the tokens. The start-up token, if there is one, is an admin's; path is the file of tokens, empty for none.
// Errors: host.Faults for the file.
func NewKeeper(start, path string, env host.Env) (*Keeper, error) {
	k := &Keeper{path: path, env: env, now: time.Now, hasOne: start != ""}
	if k.hasOne {
		k.start = sha256.Sum256([]byte(start))
	}
	k.holders.Store(&holders{})
	_, err := k.Refresh()
	return k, err
}

// Alone returns a keeper that knows only one user, who needs no token: the person who runs this program.
func Alone(user string, roles ...verb.Role) (*Keeper, Identity) {
	i := Identity{User: user, Roles: roles, digest: sha256.Sum256([]byte(NewToken()))}
	k := &Keeper{now: time.Now}
	k.holders.Store(&holders{tokens: map[digest]holder{i.digest: {Identity: i}}})
	return k, i
}

// Refresh reads the file again if it has changed. It reports whether it has. A file with faults leaves the tokens as they are.
func (k *Keeper) Refresh() (changed bool, err error) {
	if k.path == "" {
		return false, nil
	}
	info, err := os.Stat(k.path)
	if err == nil && k.seen != nil && info.ModTime().Equal(k.seen.ModTime()) && info.Size() == k.seen.Size() && os.SameFile(info, k.seen) {
		return false, nil
	}
	var file File
	if err := host.ReadYAML(k.path, k.env, &file); err != nil {
		return false, err
	}
	list := holders{map[digest]holder{}, map[string]holder{}}
	for at := range file.Tokens {
		t := &file.Tokens[at]
		d, err := t.digest()
		if err != nil {
			return false, err
		}
		until, err := t.until()
		if err != nil {
			return false, err
		}
		id := Identity{User: t.User, digest: d, certificate: t.Certificate}
		for _, role := range t.Roles {
			id.Roles = append(id.Roles, verb.Role(role))
		}
		if t.Certificate != "" {
			list.certificates[t.Certificate] = holder{id, until}
		} else {
			list.tokens[d] = holder{id, until}
		}
	}
	k.holders.Store(&list)
	k.seen = info
	return true, nil
}

// Of returns the owner of a token; ok is false if it is unknown, revoked or expired.
func (k *Keeper) Of(token string) (Identity, bool) {
	if token == "" {
		return Identity{}, false
	}
	return k.holder(sha256.Sum256([]byte(token)))
}

// ByCertificate returns the owner of a verified client certificate; ok is false if the file has none of its names.
func (k *Keeper) ByCertificate(c *x509.Certificate) (Identity, bool) {
	names := make([]string, 0, len(c.URIs)+1)
	for _, uri := range c.URIs {
		names = append(names, uri.String())
	}
	for _, name := range append(names, c.Subject.CommonName) {
		if id, ok := k.named(name); ok {
			return id, true
		}
	}
	return Identity{}, false
}

// Valid reports whether the token or certificate of an identity is still valid with the same roles.
func (k *Keeper) Valid(i Identity) bool {
	now, ok := k.holder(i.digest)
	if i.certificate != "" {
		now, ok = k.named(i.certificate)
	}
	return ok && now.User == i.User && slices.Equal(now.Roles, i.Roles)
}

// holder looks up a digest. Digests are not secret, so the time that this takes reveals nothing about a token.
func (k *Keeper) holder(d digest) (Identity, bool) {
	if k.hasOne && d == k.start {
		return Identity{Roles: []verb.Role{verb.Admin}, digest: d}, true
	}
	h, ok := k.holders.Load().tokens[d]
	return k.living(h, ok)
}

// named looks up the name in a certificate.
func (k *Keeper) named(name string) (Identity, bool) {
	h, ok := k.holders.Load().certificates[name]
	return k.living(h, ok)
}

// living returns the identity of an owner, unless the entry has expired.
func (k *Keeper) living(h holder, ok bool) (Identity, bool) {
	if !ok || !h.until.IsZero() && !k.now().Before(h.until) {
		return Identity{}, false
	}
	return h.Identity, true
}
