package lenient

import (
	"strings"
	"unicode/utf8"
)

// space skips what may stand between any two tokens: white space, invisible characters, stray bytes, comments.
func (p *parser) space() {
	for p.pos < len(p.src) {
		p.ahead.steps++
		c := p.src[p.pos]
		if isPlainSpace(c) {
			p.pos++
			continue
		}
		if size := p.comment(); size > 0 {
			p.skip(Comment, size)
			continue
		}
		r, size := runeAt(p.src, p.pos)
		switch {
		case r == utf8.RuneError && size == 1:
			p.skip(Encoding, size)
		case isSpace(r):
			p.skip(Space, size)
		default:
			return
		}
		if p.failed {
			return
		}
	}
}

// comment returns the length of the comment that starts here, or 0.
func (p *parser) comment() int {
	return p.ahead.comment(p.pos, p.want == wantValue && p.inObject())
}

// comment returns the length of the comment at an offset, or 0. Where a value of an object is expected, it may be a
// colour.
func (t *lookahead) comment(at int, value bool) int {
	rest := t.src[at:]
	size := 0
	switch rest[0] {
	case '#':
		if !value || !isColour(rest) {
			size = upTo(rest, "\n")
		}
	case '/':
		if strings.HasPrefix(rest, "//") {
			size = upTo(rest, "\n")
		} else if strings.HasPrefix(rest, "/*") {
			size = upTo(rest, "*/")
		}
	case '<':
		if strings.HasPrefix(rest, "<!--") {
			size = upTo(rest, "-->")
		}
	}
	t.steps += size
	return size
}

// isColour distinguishes a value such as #ff0000 from a comment.
func isColour(rest string) bool { return len(rest) > 1 && (isHex(rest[1]) || isLetter(rest[1])) }

// upTo returns the length of the text up to and including end, or all of it.
func upTo(text, end string) int {
	if i := strings.Index(text, end); i >= 0 {
		return i + len(end)
	}
	return len(text)
}

// rawPayload reads raw text whose start marker is at an offset, as the content of a string.
func (p *parser) rawPayload(at int) {
	p.note(Payload, p.pos)
	p.begin()
	rest := p.src[at+len(p.opts.PayloadStart):]
	text, _, found := strings.Cut(rest, p.opts.PayloadEnd)
	p.ahead.steps += len(text)
	p.out = append(p.out, '"')
	p.out = append(appendText(p.out, text), '"')
	p.pos = len(p.src) - len(rest) + len(text)
	if found {
		p.pos += len(p.opts.PayloadEnd)
	}
	p.done(false)
}
