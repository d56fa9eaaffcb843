package redact

import (
	"slices"
	"strings"
)

// Stream removes secrets from a text that arrives in pieces, wherever it is split. Text that may be the beginning of a
// secret is held back until that is decided. The zero value removes nothing. It belongs to one goroutine.
type Stream struct {
	redactor *Redactor
	held     string
	keys     *keys // nil if keys are not removed by their form.
}

// Stream returns a new stream. With shaped it also removes everything that clearly has the form of a key, sk-….
func (r *Redactor) Stream(shaped bool) *Stream {
	s := &Stream{redactor: r}
	if shaped {
		s.keys = &keys{}
	}
	return s
}

// Feed adds a piece and returns the text that is certainly not part of a secret.
func (s *Stream) Feed(piece string) string {
	if m := s.redactor.matcher(); m != nil {
		piece = s.known(m, piece)
	}
	if s.keys != nil {
		piece = s.keys.reveal(piece, false)
	}
	return piece
}

func (s *Stream) known(m *matcher, piece string) string {
	text, from := piece, 0
	if s.held != "" {
		text = s.held + piece
	}
	var out strings.Builder
	open := m.open(text, 0)
	for from < open {
		at, size := find(m, text, from)
		if size == 0 || at >= open {
			break
		}
		out.WriteString(text[from:at])
		out.WriteString(m.mask(text[at : at+size]))
		if from = at + size; from > open {
			open = m.open(text, from)
		}
	}
	s.held = text[open:]
	if out.Len() == 0 {
		return text[from:open]
	}
	out.WriteString(text[from:open])
	return out.String()
}

// Flush returns what was held back, at the end. Most of a secret counts as one.
func (s *Stream) Flush() string {
	rest := s.redactor.tail(s.held)
	s.held = ""
	if s.keys != nil {
		rest = s.keys.reveal(rest, true)
	}
	return rest
}

func (r *Redactor) tail(held string) string {
	if held == "" {
		return ""
	}
	held = r.Text(held)
	for _, secret := range r.secrets {
		for n := min(len(secret)-1, len(held)); n >= minPart; n-- {
			if strings.HasSuffix(held, secret[:n]) {
				return held[:len(held)-n] + Mask
			}
		}
	}
	return held
}

// Keys removes from a complete text the secrets and everything that clearly has the form of a key, sk-….
func (r *Redactor) Keys(text string) string {
	s := r.Stream(true)
	return s.Feed(text) + s.Flush()
}

// keys finds keys by their form.
type keys struct {
	held string
	last byte // The last byte of the previous piece.
}

// maxKey limits the length of keys known by their form, in bytes.
const maxKey = 256

// form is the beginning of such keys.
const form = "sk-"

func (k *keys) reveal(piece string, final bool) string {
	if k.held == "" && strings.IndexByte(piece, form[0]) < 0 {
		if piece != "" {
			k.last = piece[len(piece)-1]
		}
		return piece
	}
	text := k.held + piece
	k.held = ""
	var shown strings.Builder
	from, at := 0, 0
	for at < len(text) {
		size, open := 0, false
		if text[at] == form[0] && !inWord(k.last) {
			size, open = formed(text[at:], final)
		}
		switch {
		case open:
			k.held = text[at:]
			return shown.String() + text[from:at]
		case size > 0:
			shown.WriteString(text[from:at] + Mask)
			at += size
			from, k.last = at, '*'
		default:
			k.last = text[at]
			at++
		}
	}
	return shown.String() + text[from:]
}

// formed returns the length of a key at the beginning of a text; open is true while its end is not known.
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

// random reports whether a part between dashes is longer than a word, and mixes letters and digits as no word does.
func random(text string) bool {
	const digits = "0123456789"
	return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return r == '-' || r == '_' }), func(part string) bool {
		return len(part) >= minPart && strings.ContainsAny(part, digits) && strings.Trim(part, digits) != ""
	})
}

func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
