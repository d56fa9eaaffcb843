package redact

import (
	"cmp"
	"slices"
	"strings"
)

// Mask stands where a secret was. Its length tells nothing.
const Mask = "********"

// within stands, as often as it takes, where a secret was within base64: what was base64 stays so, and everything behind it in place.
const within = "redacted"

// Redactor takes a fixed set of secrets out of texts. It may be used from several goroutines; nil and the zero value take out nothing.
type Redactor struct {
	secrets []string
	found   *matcher // nil without secrets.
}

// New makes a redactor for secrets, whatever they look like; only empty ones are left out. Values from a configuration go through a
// Set, which leaves out what is too common.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	var patterns, inBase64 []string
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		r.secrets = append(r.secrets, secret)
		patterns = append(patterns, forms(secret)...)
		inBase64 = append(inBase64, encoded(secret)...)
	}
	slices.SortFunc(r.secrets, longestFirst)
	r.secrets = slices.Compact(r.secrets)
	if len(patterns) > 0 {
		r.found = newMatcher(patterns)
		for _, form := range inBase64 {
			r.found.inBase64[form] = true
		}
		for _, secret := range r.secrets {
			delete(r.found.inBase64, secret)
		}
	}
	return r
}

func longestFirst(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }

func (r *Redactor) matcher() *matcher {
	if r == nil {
		return nil
	}
	return r.found
}

// Empty reports whether there is nothing to take out.
func (r *Redactor) Empty() bool { return r.matcher() == nil }

// Text gives a text without the secrets; the text itself when it holds none.
func (r *Redactor) Text(text string) string {
	m := r.matcher()
	if m == nil {
		return text
	}
	at, size := find(m, text, 0)
	if size == 0 {
		return text
	}
	var out strings.Builder
	from := 0
	for size > 0 {
		out.WriteString(text[from:at])
		out.WriteString(m.mask(text[at : at+size]))
		from = at + size
		at, size = find(m, text, from)
	}
	out.WriteString(text[from:])
	return out.String()
}

// minPart is how much of a secret gives it away where a text ends, in bytes.
const minPart = 16

// Holds reports whether a text holds a secret.
func (r *Redactor) Holds(text []byte) bool {
	m := r.matcher()
	if m == nil {
		return false
	}
	_, size := find(m, text, 0)
	return size > 0
}
