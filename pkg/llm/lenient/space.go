package lenient

import (
	"strings"
	"unicode/utf8"
)

// space skips what may stand between any two tokens: white space, invisible characters, stray bytes, comments.
func (p *parser) space() {
	for p.pos < len(p.src) {
		p.steps++
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

// comment is the length of the comment that starts here, or 0.
func (p *parser) comment() int {
	rest := p.src[p.pos:]
	size := 0
	switch rest[0] {
	case '#':
		if !p.isColour(rest) {
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
	p.steps += size
	return size
}

// isColour tells #ff0000 as the value of a member from a comment.
func (p *parser) isColour(rest string) bool {
	return p.want == wantValue && p.inObject() && len(rest) > 1 && (isHex(rest[1]) || isLetter(rest[1]))
}

// upTo is the length of text up to and with its end, or all of it.
func upTo(text, end string) int {
	if i := strings.Index(text, end); i >= 0 {
		return i + len(end)
	}
	return len(text)
}

// blanks is the offset of the first character at or behind an offset that shows.
func (p *parser) blanks(at int) int {
	for at < len(p.src) {
		r, size := runeAt(p.src, at)
		if !isSpace(r) {
			break
		}
		p.steps++
		at += size
	}
	return at
}

// broken reports whether a line ends between two offsets with only blanks between.
func (p *parser) broken(from, to int) bool { return strings.IndexByte(p.src[from:to], '\n') >= 0 }

// commentAt reports whether a comment starts at an offset.
func (p *parser) commentAt(at int) bool {
	switch p.src[at] {
	case '#':
		return true
	case '/':
		return at+1 < len(p.src) && (p.src[at+1] == '/' || p.src[at+1] == '*')
	}
	return false
}

// frameEnds reports whether the frame around a value ends at an offset: its fence, or a tag.
func (p *parser) frameEnds(at int) bool {
	switch c := p.src[at]; c {
	case '`', '~':
		return at+2 < len(p.src) && p.src[at+1] == c && p.src[at+2] == c
	case '<':
		return at+2 < len(p.src) && p.src[at+1] == '/' && isLetter(p.src[at+2])
	}
	return false
}

// dots is the length of the ellipsis at an offset, or 0.
func (p *parser) dots(at int) int {
	if c := p.src[at]; c != '.' && c < utf8.RuneSelf {
		return 0
	}
	rest := p.src[at:]
	size := len(rest) - len(strings.TrimLeft(rest, "."))
	p.steps += size
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
func (p *parser) payload(at int) bool { return strings.HasPrefix(p.src[at:], p.opts.PayloadStart) }

// rawPayload reads raw text whose start marker stands at an offset, as the content of a string.
func (p *parser) rawPayload(at int) {
	p.note(Payload, p.pos)
	p.begin()
	rest := p.src[at+len(p.opts.PayloadStart):]
	text, _, found := strings.Cut(rest, p.opts.PayloadEnd)
	p.steps += len(text)
	p.out = append(p.out, '"')
	p.out = append(appendText(p.out, text), '"')
	p.pos = len(p.src) - len(rest) + len(text)
	if found {
		p.pos += len(p.opts.PayloadEnd)
	}
	p.done(false)
}
