package lenient

import (
	"strings"
	"unicode/utf8"
)

// key reads the name of a member, or what ends the object instead.
func (p *parser) key() {
	r, size := runeAt(p.src, p.pos)
	mark, top := markOf(r), p.top()
	switch {
	case quoteOf(r) != noQuote:
		p.element(top)
		p.string(true)
	case isCloser(mark):
		p.closer(mark, r, size)
	case mark == ',':
		p.skip(ExtraComma, size)
	case mark == '{' && top.n == 0:
		top.doubled++
		p.skip(ExtraOpener, size)
	case mark != 0:
		p.skip(Junk, size)
	case p.dots(p.pos) > 0:
		p.ellipsis()
	case p.prefix():
	default:
		p.bareKey()
	}
}

// bareKey reads a key without quotes, up to its colon. Text that no colon follows is no key.
func (p *parser) bareKey() {
	start := p.pos
	end := p.bareKeyEnd(start)
	text := strings.TrimSpace(p.src[start:end])
	if end >= len(p.src) {
		p.pos = end
		return
	}
	if _, size := p.sepAt(end); size == 0 || text == "" {
		_, size = runeAt(p.src, start)
		p.note(Junk, start)
		p.pos = max(end, start+size)
		return
	}
	p.note(BareKey, start)
	p.element(p.top())
	p.out = append(p.out, '"')
	p.out = append(appendText(p.out, text), '"')
	p.pos = end
	p.want = wantColon
}

// bareKeyEnd is where a key without quotes ends: at a separator, punctuation, a quote or the end of the line.
func (p *parser) bareKeyEnd(at int) int {
	for at < len(p.src) {
		p.steps++
		r, size := runeAt(p.src, at)
		if r == '\n' || r == '=' || r == '"' || markOf(r) != 0 || p.frameEnds(at) {
			return at
		}
		at += size
	}
	return at
}

// colon reads what stands between key and value.
func (p *parser) colon() {
	r, size := runeAt(p.src, p.pos)
	kind, width := p.sepAt(p.pos)
	mark := markOf(r)
	switch {
	case width > 0:
		if kind != "" {
			p.note(kind, p.pos)
		}
		p.pos += width
		p.separate()
	case isCloser(mark) || mark == ',':
		p.separate()
	case isOpener(mark) || quoteOf(r) != noQuote || p.startsValue(p.pos):
		p.note(MissingColon, p.pos)
		p.separate()
	default:
		p.junk(size)
	}
}

// separate goes on from the key to its value.
func (p *parser) separate() {
	p.out = append(p.out, ':')
	p.want = wantValue
}

// sepAt is the separator of key and value at an offset: its length, or 0, and the repair that it needs.
func (p *parser) sepAt(at int) (kind Kind, size int) {
	rest := p.src[at:]
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
