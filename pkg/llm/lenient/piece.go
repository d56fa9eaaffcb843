package lenient

import "strings"

// joins reports whether a piece of the string just read follows: behind a plus, or, where no comma can have been
// forgotten, directly.
func (p *parser) joins(r rune, size int) bool {
	if !p.text {
		return false
	}
	top := p.top()
	if r == '+' {
		after, _ := runeAt(p.src, p.blanks(p.pos+size))
		return quoteOf(after) != noQuote
	}
	if quoteOf(r) == noQuote {
		return false
	}
	return top.mark == '(' || top.mark == '{' && !p.keyAt(p.pos)
}

// join reads a piece onto the string just read.
func (p *parser) join() {
	p.note(Joined, p.pos)
	if p.src[p.pos] == '+' {
		p.pos = p.blanks(p.pos + 1)
	}
	p.out = p.out[:len(p.out)-1]
	r, size := runeAt(p.src, p.pos)
	if size := p.tripled(p.pos); size > 0 {
		p.raw(false, size)
		return
	}
	p.pos += size
	p.content(false, r)
}

// tripled is the length of an opening quote that is written three times, or 0.
func (p *parser) tripled(at int) int {
	if p.strict || at < p.trusted || at+3 > len(p.src) {
		return 0
	}
	if three := p.src[at : at+3]; three == `"""` || three == `'''` {
		return 3
	}
	return 0
}

// raw reads a string between quotes that are written three times; quotes and line breaks in it mean themselves.
func (p *parser) raw(key bool, size int) {
	p.note(Quote, p.pos)
	ends := p.src[p.pos : p.pos+size]
	p.pos += size
	for p.pos < len(p.src) && !p.failed {
		p.steps++
		r, width := runeAt(p.src, p.pos)
		switch {
		case strings.HasPrefix(p.src[p.pos:], ends):
			p.endString(key, size)
			return
		case r == '\\':
			p.escape(true, '"')
		default:
			p.copy(r, width)
		}
	}
	p.openEnd(key)
}
