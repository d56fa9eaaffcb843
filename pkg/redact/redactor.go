package redact

import (
	"cmp"
	"slices"
	"strings"
)

// Mask replaces a secret. Its length reveals nothing.
const Mask = "********"

// within replaces a secret inside base64, repeated to its length: the result is still base64 and the rest keeps its
// position.
const within = "redacted"

// Redactor removes a fixed set of secrets from texts. It is safe for concurrent use; nil and the zero value remove nothing.
type Redactor struct {
	secrets []string
	found   *matcher // nil without secrets.
}

// New returns a redactor for secrets of any form, except empty ones. Values from a configuration should go through a Set,
// which leaves out common words.
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

// Empty reports whether there are no secrets.
func (r *Redactor) Empty() bool { return r.matcher() == nil }

// Text returns a text without secrets; the text itself if it has none.
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

// minPart is how many bytes of a secret at the end of a text reveal it.
const minPart = 16

// Holds reports whether a text contains a secret.
func (r *Redactor) Holds(text []byte) bool {
	m := r.matcher()
	if m == nil {
		return false
	}
	_, size := find(m, text, 0)
	return size > 0
}
