package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// veil takes keys out of what a model says while it says it, however they are cut into pieces: the configured ones, and what
// is unmistakably a key of the form sk-…. What may be the beginning of a key is held back until that is known. Other text
// passes unchanged, and JSON stays JSON.
type veil struct {
	// secrets are the keys, the longest first.
	secrets []Secret
	// exact leaves the form out.
	exact bool
	// held is what may become a key; last is the byte before it.
	held string
	last byte
}

// veiled takes keys out of a whole text.
func (v veil) veiled(text string) string { return v.feed(text) + v.flush() }

// feed takes the next piece and gives what is known to be no key.
func (v *veil) feed(piece string) string { return v.reveal(piece, false) }

// flush gives what was held back when nothing follows.
func (v *veil) flush() string { return v.reveal("", true) }

func (v *veil) reveal(piece string, final bool) string {
	text := v.held + piece
	v.held = ""
	var shown strings.Builder
	from, at := 0, 0
	for at < len(text) {
		rest := text[at:]
		size, open := v.secret(rest, final)
		if size == 0 && !open && !v.exact && !inWord(v.last) {
			size, open = formed(rest, final)
		}
		switch {
		case open:
			v.held = rest
			return shown.String() + text[from:at]
		case size > 0:
			shown.WriteString(text[from:at] + hidden)
			at += size
			from, v.last = at, '*'
		default:
			v.last = text[at]
			at++
		}
	}
	return shown.String() + text[from:]
}

// secret is the length of the key that a text begins with. It is open while the text may become one; at the end, most of
// a key counts as one.
func (v *veil) secret(text string, final bool) (size int, open bool) {
	for _, secret := range v.secrets {
		switch s := string(secret); {
		case strings.HasPrefix(text, s):
			return len(s), false
		case !strings.HasPrefix(s, text):
		case !final:
			return 0, true
		case len(text) >= minKey:
			return len(text), false
		}
	}
	return 0, false
}

// Bounds of keys that are known by their form alone, in bytes.
const (
	minKey = 16
	maxKey = 256
)

// form begins the keys that are known by it.
const form = "sk-"

// formed is the length of what a text begins with when it has the form of a key. It is open while its end is not known.
func formed(text string, final bool) (size int, open bool) {
	if !strings.HasPrefix(text, form) {
		return 0, !final && strings.HasPrefix(form, text)
	}
	end := len(form)
	for end < len(text) && end <= maxKey && (inWord(text[end]) || text[end] == '-') {
		end++
	}
	switch {
	case end > maxKey:
		return 0, false
	case end == len(text) && !final:
		return 0, true
	case random(text[len(form):end]):
		return end, false
	}
	return 0, false
}

// random reports whether a part between dashes is as long, and mixes letters and digits, as no word does.
func random(text string) bool {
	const digits = "0123456789"
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == '-' || r == '_' }), func(part string) bool {
		return len(part) >= minKey && strings.ContainsAny(part, digits) && strings.Trim(part, digits) != ""
	})
}

func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// secrets are the configured keys that may be looked for in an answer, the longest first.
func secrets(models map[string]*model) (all []Secret) {
	for _, m := range models {
		if m.cfg.Key.telling() {
			all = append(all, m.cfg.Key)
		}
	}
	slices.SortFunc(all, func(a, b Secret) int { return cmp.Or(len(b)-len(a), strings.Compare(string(a), string(b))) })
	return slices.Compact(all)
}

// telling reports whether a text that holds the key gives it away. Local servers are given words for a key, as ollama or
// not-needed, which an answer may well hold.
func (s Secret) telling() bool {
	return len(s) >= minKey || len(s) >= 8 && (strings.HasPrefix(string(s), form) || strings.ContainsAny(string(s), "0123456789"))
}

// veilItems takes the keys out of raw items.
func veilItems(items []json.RawMessage, secrets []Secret) []json.RawMessage {
	for i := range items {
		for _, secret := range secrets {
			if made := bytes.ReplaceAll(items[i], []byte(secret), []byte(hidden)); json.Valid(made) {
				items[i] = made
			}
		}
	}
	return items
}
