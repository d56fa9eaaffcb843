package lenient

import (
	"strings"
)

// key reads the name of a member, or what ends the object instead.
func (p *parser) key() {
	r, size := runeAt(p.src, p.pos)
	mark, top := markOf(r), p.top()
	switch {
	case quoteOf(r) != noQuote:
		p.element(top)
		p.strings.read(true)
	case isCloser(mark):
		p.closer(mark, r, size)
	case mark == ',':
		p.skip(ExtraComma, size)
	case mark == '{' && top.n == 0:
		top.doubled++
		p.skip(ExtraOpener, size)
	case mark != 0:
		p.skip(Junk, size)
	case p.ahead.dots(p.pos) > 0:
		p.ellipsis()
	case p.prefix():
	default:
		p.bareKey()
	}
}

// bareKey reads a key without quotes up to its colon. Text without a colon after it is not a key.
func (p *parser) bareKey() {
	start := p.pos
	end := p.ahead.bareKeyEnd(start)
	text := strings.TrimSpace(p.src[start:end])
	if end >= len(p.src) {
		p.pos = end
		return
	}
	if _, size := p.ahead.sepAt(end); size == 0 || text == "" {
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

// colon reads what stands between key and value.
func (p *parser) colon() {
	r, size := runeAt(p.src, p.pos)
	kind, width := p.ahead.sepAt(p.pos)
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
	case isOpener(mark) || quoteOf(r) != noQuote || p.ahead.startsValue(p.pos):
		p.note(MissingColon, p.pos)
		p.separate()
	default:
		p.junk(size)
	}
}

// separate moves from the key to its value.
func (p *parser) separate() {
	p.out = append(p.out, ':')
	p.want = wantValue
}
