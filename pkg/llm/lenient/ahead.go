package lenient

import (
	"strings"
	"unicode/utf8"
)

// maxAhead limits how far to look ahead for the end of a key. A longer one counts as a key.
const maxAhead = 128

// lookahead describes what is at an offset of the text and what could follow, without moving.
type lookahead struct {
	opts *Options
	src  string
	// steps counts the characters inspected, also by the parser, to prove that the time is linear.
	steps int
}

// keyAt reports whether a key with its separator starts at an offset.
func (t *lookahead) keyAt(at int) bool {
	r, size := runeAt(t.src, at)
	if quoteOf(r) != noQuote {
		return t.quotedKeyAt(at)
	}
	if !isWord(r) || size == 0 {
		return false
	}
	end := at
	for limit := at + maxAhead/2; end < limit && size > 0 && isWord(r); r, size = runeAt(t.src, end) {
		t.steps++
		end += size
	}
	end = t.blanks(end)
	if end >= len(t.src) || strings.HasPrefix(t.src[end:], "://") {
		return false
	}
	_, size = t.sepAt(end)
	return size > 0
}

// quotedKeyAt reports whether a key in quotes with its separator starts at an offset, or is cut there.
func (t *lookahead) quotedKeyAt(at int) bool {
	opener, size := runeAt(t.src, at)
	family := quoteOf(opener)
	if family == noQuote {
		return false
	}
	at += size
	for limit := at + maxAhead; at < limit; {
		t.steps++
		r, size := runeAt(t.src, at)
		switch {
		case size == 0:
			return true
		case r == '\\':
			at += 2
			continue
		case quoteOf(r) == family:
			end := t.blanks(at + size)
			if end >= len(t.src) {
				return true
			}
			if _, width := t.sepAt(end); width > 0 {
				return true
			}
			if r == opener || pairs(opener, r) {
				return false
			}
		}
		at += size
	}
	return true
}

// memberAt reports whether a whole key, its colon and the start of a value follow at an offset.
func (t *lookahead) memberAt(at int) bool {
	if at >= len(t.src) || t.src[at] != '"' {
		return false
	}
	end := strings.IndexByte(t.src[at+1:min(len(t.src), at+maxAhead)], '"')
	t.steps += maxAhead
	if end < 0 {
		return false
	}
	colon := t.blanks(at + end + 2)
	return colon < len(t.src) && t.src[colon] == ':' && t.startsValue(t.blanks(colon+1))
}

// startsValue reports whether the text at an offset looks like a value and not like prose.
func (t *lookahead) startsValue(at int) bool {
	r, size := runeAt(t.src, at)
	switch {
	case size == 0:
		return false
	case quoteOf(r) != noQuote, isOpener(markOf(r)), isDigit(byte(r)) && r < 0x80, t.payload(at):
		return true
	case r == '-' || r == '+' || r == '.':
		return at+1 < len(t.src) && (isDigit(t.src[at+1]) || t.src[at+1] == '.' || t.src[at+1] == 'I')
	}
	_, ok := literal(t.tight(at, maxAhead))
	return ok
}

// endsLater reports whether what follows the next straight quote could follow the end of a string, or whether that
// quote is too far away to tell.
func (t *lookahead) endsLater(at int) bool {
	for limit := at + maxAhead; at < limit; at++ {
		if at >= len(t.src) {
			return false
		}
		t.steps++
		switch t.src[at] {
		case '\\':
			at++
		case '"':
			next := t.blanks(at + 1)
			_, size := t.sepAt(next)
			return size > 0 || t.structural(next)
		}
	}
	return true
}

// structural reports whether the text at an offset is punctuation, a comment or an end.
func (t *lookahead) structural(at int) bool {
	if at >= len(t.src) {
		return true
	}
	r, _ := runeAt(t.src, at)
	mark := markOf(r)
	return mark == ',' || isCloser(mark) || t.commentAt(at) || t.frameEnds(at)
}

// blanks returns the offset of the first visible character at or after an offset.
func (t *lookahead) blanks(at int) int {
	for at < len(t.src) {
		r, size := runeAt(t.src, at)
		if !isSpace(r) {
			break
		}
		t.steps++
		at += size
	}
	return at
}

// broken reports whether a line ends between two offsets with only blanks between.
func (t *lookahead) broken(from, to int) bool { return strings.IndexByte(t.src[from:to], '\n') >= 0 }

// commentAt reports whether a comment starts at an offset.
func (t *lookahead) commentAt(at int) bool {
	switch t.src[at] {
	case '#':
		return true
	case '/':
		return at+1 < len(t.src) && (t.src[at+1] == '/' || t.src[at+1] == '*')
	}
	return false
}

// frameEnds reports whether the frame around a value ends at an offset: its fence, or a tag.
func (t *lookahead) frameEnds(at int) bool {
	switch c := t.src[at]; c {
	case '`', '~':
		return at+2 < len(t.src) && t.src[at+1] == c && t.src[at+2] == c
	case '<':
		return at+2 < len(t.src) && t.src[at+1] == '/' && isLetter(t.src[at+2])
	}
	return false
}

// dots returns the length of the ellipsis at an offset, or 0.
func (t *lookahead) dots(at int) int {
	if c := t.src[at]; c != '.' && c < utf8.RuneSelf {
		return 0
	}
	rest := t.src[at:]
	size := len(rest) - len(strings.TrimLeft(rest, "."))
	t.steps += size
	switch {
	case size >= 2:
		return size
	case strings.HasPrefix(rest, "…"):
		return len("…")
	case strings.HasPrefix(rest, "。。"):
		return len("。。")
	}
	return 0
}

// payload reports whether raw text starts at an offset.
func (t *lookahead) payload(at int) bool { return strings.HasPrefix(t.src[at:], t.opts.PayloadStart) }

// bareKeyEnd returns where a key without quotes ends: at a separator, punctuation, a quote or the end of the line.
func (t *lookahead) bareKeyEnd(at int) int {
	for at < len(t.src) {
		t.steps++
		r, size := runeAt(t.src, at)
		if r == '\n' || r == '=' || r == '"' || markOf(r) != 0 || t.frameEnds(at) {
			return at
		}
		at += size
	}
	return at
}

// sepAt returns the length of the separator between key and value at an offset, or 0, and the repair that it needs.
func (t *lookahead) sepAt(at int) (kind Kind, size int) {
	rest := t.src[at:]
	if rest == "" {
		return "", 0
	}
	switch two := rest[:min(2, len(rest))]; {
	case two == "=>", two == "->", two == ":=", two == "==":
		return MissingColon, 2
	case rest[0] == ':':
		return "", 1
	case rest[0] == '=':
		return MissingColon, 1
	case rest[0] < utf8.RuneSelf:
		return "", 0
	}
	if r, size := runeAt(rest, 0); markOf(r) == ':' {
		return Punctuation, size
	}
	return "", 0
}

// tight returns the text at an offset up to a blank or punctuation, at most limit bytes, completed to a whole rune.
func (t *lookahead) tight(at, limit int) string {
	end := at
	for end < len(t.src) && end-at < limit {
		r, size := runeAt(t.src, end)
		if isSpace(r) || r == utf8.RuneError && size == 1 || r == '"' || r == '`' || markOf(r) != 0 && r != ':' || t.frameEnds(end) {
			break
		}
		end += size
	}
	t.steps += end - at
	return t.src[at:end]
}
