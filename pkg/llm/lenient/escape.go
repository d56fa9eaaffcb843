package lenient

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// escape reads a backslash and what belongs to it. It reports whether the string ends here, because the backslash was
// meant as itself and the quote behind it as the end.
func (p *parser) escape(key bool, opener rune) bool {
	at := p.pos
	rest := p.src[at+1:]
	if rest == "" {
		p.note(Escape, at)
		p.pos++
		return false
	}
	switch c := rest[0]; c {
	case '"':
		if !key && opener == '"' && p.backslashEnds(at) {
			p.note(Escape, at)
			p.out = append(p.out, '\\', '\\')
			p.pos += 2
			return true
		}
		fallthrough
	case '\\', '/', 'b', 'f', 'n', 'r', 't':
		p.out = append(p.out, '\\', c)
		p.pos += 2
	case 'u':
		p.unicodeEscape(rest[1:])
	case 'x', 'U':
		p.note(Escape, at)
		p.hexEscape(rest[1:], map[byte]int{'x': 2, 'U': 8}[c])
	case '\n':
		p.skip(Escape, 2)
	case '\r':
		p.skip(Escape, 2+len(rest[1:])-len(strings.TrimPrefix(rest[1:], "\n")))
	case '0':
		p.note(Escape, at)
		p.out = append(p.out, `\u0000`...)
		p.pos += 2
	case '\'', '`':
		p.note(Escape, at)
		p.out = append(p.out, c)
		p.pos += 2
	default:
		// A path or a formula: the backslash means itself.
		p.note(Escape, at)
		p.out = append(p.out, '\\', '\\')
		p.pos++
	}
	return false
}

// backslashEnds reports whether a quote behind a backslash ends the string after all, because a member or the end of
// the text follows, as behind a path that ends with a backslash.
func (p *parser) backslashEnds(at int) bool {
	if p.strict || at < p.trusted || !p.inObject() {
		return false
	}
	next := p.blanks(at + 2)
	if next >= len(p.src) {
		return false
	}
	switch p.src[next] {
	case ',':
		return p.memberAt(p.blanks(next + 1))
	case '}':
		return len(p.stack) == 1 && p.blanks(next+1) >= len(p.src)
	}
	return false
}

// unicodeEscape reads what follows \u: four digits, or any number of them in braces.
func (p *parser) unicodeEscape(rest string) {
	if digits := hexRun(rest, 4); digits == 4 {
		p.out = append(p.out, `\u`...)
		p.out = append(p.out, rest[:4]...)
		p.pos += 6
		return
	} else if digits == len(rest) && !p.strict {
		// The text ends in the escape.
		p.note(Escape, p.pos)
		p.pos = len(p.src)
		return
	}
	p.note(Escape, p.pos)
	if strings.HasPrefix(rest, "{") {
		if n := hexRun(rest[1:], 6); n > 0 && strings.HasPrefix(rest[1+n:], "}") {
			p.character(rest[1 : 1+n])
			p.pos += n + 4
			return
		}
	}
	p.out = append(p.out, '\\', '\\')
	p.pos++
}

// hexEscape reads what follows \x or \U: that many digits.
func (p *parser) hexEscape(rest string, digits int) {
	if hexRun(rest, digits) < digits {
		p.out = append(p.out, '\\', '\\')
		p.pos++
		return
	}
	p.character(rest[:digits])
	p.pos += 2 + digits
}

// character appends the character with a number in hexadecimal digits.
func (p *parser) character(digits string) {
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || n > utf8.MaxRune {
		n = utf8.RuneError
	}
	p.out = appendText(p.out, string(rune(n)))
}

// hexRun counts hexadecimal digits, at most limit.
func hexRun(text string, limit int) int {
	n := 0
	for n < len(text) && n < limit && isHex(text[n]) {
		n++
	}
	return n
}
