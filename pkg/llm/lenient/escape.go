package lenient

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// escape reads a backslash and what belongs to it. It reports whether the string ends here, because the backslash means
// itself and the quote after it is the end.
func (sr *stringReader) escape(key bool, opener rune) bool {
	at := sr.p.pos
	rest := sr.p.src[at+1:]
	if rest == "" {
		sr.p.note(Escape, at)
		sr.p.pos++
		return false
	}
	switch c := rest[0]; c {
	case '"':
		if !key && opener == '"' && sr.backslashEnds(at) {
			sr.p.note(Escape, at)
			sr.p.out = append(sr.p.out, '\\', '\\')
			sr.p.pos += 2
			return true
		}
		fallthrough
	case '\\', '/', 'b', 'f', 'n', 'r', 't':
		sr.p.out = append(sr.p.out, '\\', c)
		sr.p.pos += 2
	case 'u':
		sr.unicodeEscape(rest[1:])
	case 'x', 'U':
		sr.p.note(Escape, at)
		sr.hexEscape(rest[1:], map[byte]int{'x': 2, 'U': 8}[c])
	case '\n':
		sr.p.skip(Escape, 2)
	case '\r':
		sr.p.skip(Escape, 2+len(rest[1:])-len(strings.TrimPrefix(rest[1:], "\n")))
	case '0':
		sr.p.note(Escape, at)
		sr.p.out = append(sr.p.out, `\u0000`...)
		sr.p.pos += 2
	case '\'', '`':
		sr.p.note(Escape, at)
		sr.p.out = append(sr.p.out, c)
		sr.p.pos += 2
	default:
		// A path or a formula: the backslash means itself.
		sr.p.note(Escape, at)
		sr.p.out = append(sr.p.out, '\\', '\\')
		sr.p.pos++
	}
	return false
}

// backslashEnds reports whether a quote after a backslash ends the string after all, because a member or the end of the
// text follows, as after a path that ends with a backslash.
func (sr *stringReader) backslashEnds(at int) bool {
	if sr.p.strict || at < sr.trusted || !sr.p.inObject() {
		return false
	}
	next := sr.p.ahead.blanks(at + 2)
	if next >= len(sr.p.src) {
		return false
	}
	switch sr.p.src[next] {
	case ',':
		return sr.p.ahead.memberAt(sr.p.ahead.blanks(next + 1))
	case '}':
		return len(sr.p.stack) == 1 && sr.p.ahead.blanks(next+1) >= len(sr.p.src)
	}
	return false
}

// unicodeEscape reads what follows \u: four digits, or any number of them in braces.
func (sr *stringReader) unicodeEscape(rest string) {
	if digits := hexRun(rest, 4); digits == 4 {
		sr.p.out = append(sr.p.out, `\u`...)
		sr.p.out = append(sr.p.out, rest[:4]...)
		sr.p.pos += 6
		return
	} else if digits == len(rest) && !sr.p.strict {
		// The text ends in the escape.
		sr.p.note(Escape, sr.p.pos)
		sr.p.pos = len(sr.p.src)
		return
	}
	sr.p.note(Escape, sr.p.pos)
	if strings.HasPrefix(rest, "{") {
		if n := hexRun(rest[1:], 6); n > 0 && strings.HasPrefix(rest[1+n:], "}") {
			sr.character(rest[1 : 1+n])
			sr.p.pos += n + 4
			return
		}
	}
	sr.p.out = append(sr.p.out, '\\', '\\')
	sr.p.pos++
}

// hexEscape reads the given number of digits after \x or \U.
func (sr *stringReader) hexEscape(rest string, digits int) {
	if hexRun(rest, digits) < digits {
		sr.p.out = append(sr.p.out, '\\', '\\')
		sr.p.pos++
		return
	}
	sr.character(rest[:digits])
	sr.p.pos += 2 + digits
}

// character appends the character with a number in hexadecimal digits.
func (sr *stringReader) character(digits string) {
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || n > utf8.MaxRune {
		n = utf8.RuneError
	}
	sr.p.out = appendText(sr.p.out, string(rune(n)))
}

// hexRun counts hexadecimal digits, at most limit.
func hexRun(text string, limit int) int {
	n := 0
	for n < len(text) && n < limit && isHex(text[n]) {
		n++
	}
	return n
}
