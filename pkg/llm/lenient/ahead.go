package lenient

import "strings"

// maxAhead bounds how far ahead the end of a key is looked for. A longer one counts as a key.
const maxAhead = 128

// keyAt reports whether a key with its separator starts at an offset.
func (p *parser) keyAt(at int) bool {
	r, size := runeAt(p.src, at)
	if quoteOf(r) != noQuote {
		return p.quotedKeyAt(at)
	}
	if !isWord(r) || size == 0 {
		return false
	}
	end := at
	for limit := at + maxAhead/2; end < limit && size > 0 && isWord(r); r, size = runeAt(p.src, end) {
		p.steps++
		end += size
	}
	end = p.blanks(end)
	if end >= len(p.src) || strings.HasPrefix(p.src[end:], "://") {
		return false
	}
	_, size = p.sepAt(end)
	return size > 0
}

// quotedKeyAt reports whether a key in quotes with its separator starts at an offset, or is cut there.
func (p *parser) quotedKeyAt(at int) bool {
	opener, size := runeAt(p.src, at)
	family := quoteOf(opener)
	if family == noQuote {
		return false
	}
	at += size
	for limit := at + maxAhead; at < limit; {
		p.steps++
		r, size := runeAt(p.src, at)
		switch {
		case size == 0:
			return true
		case r == '\\':
			at += 2
			continue
		case quoteOf(r) == family:
			end := p.blanks(at + size)
			if end >= len(p.src) {
				return true
			}
			if _, width := p.sepAt(end); width > 0 {
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

// memberAt reports whether a whole key with its colon and the start of a value stand at an offset.
func (p *parser) memberAt(at int) bool {
	if at >= len(p.src) || p.src[at] != '"' {
		return false
	}
	end := strings.IndexByte(p.src[at+1:min(len(p.src), at+maxAhead)], '"')
	p.steps += maxAhead
	if end < 0 {
		return false
	}
	colon := p.blanks(at + end + 2)
	return colon < len(p.src) && p.src[colon] == ':' && p.startsValue(p.blanks(colon+1))
}

// startsValue reports whether what stands at an offset looks like a value and not like prose.
func (p *parser) startsValue(at int) bool {
	r, size := runeAt(p.src, at)
	switch {
	case size == 0:
		return false
	case quoteOf(r) != noQuote, isOpener(markOf(r)), isDigit(byte(r)) && r < 0x80, p.payload(at):
		return true
	case r == '-' || r == '+' || r == '.':
		return at+1 < len(p.src) && (isDigit(p.src[at+1]) || p.src[at+1] == '.' || p.src[at+1] == 'I')
	}
	_, ok := literal(p.tight(at, maxAhead))
	return ok
}

// closes decides whether a quote of the string's own kind, at an offset, ends the string. In a text that a strict reader
// has accepted so far it does; behind that it does when what follows could follow a string.
func (p *parser) closes(at, size int, key bool) bool {
	if p.strict || at < p.trusted {
		return true
	}
	next := p.blanks(at + size)
	if next >= len(p.src) {
		return true
	}
	if key {
		return p.closesKey(at+size, next)
	}
	r, width := runeAt(p.src, next)
	mark, top := markOf(r), p.top()
	switch {
	case top == nil:
		return false
	case mark == ',':
		return p.comesNext(next+width, top)
	case mark == ')':
		return top.mark == '(' || p.structural(p.blanks(next+width))
	case isCloser(mark):
		return len(p.stack) == 1 || p.outside(next+width)
	case p.frameEnds(next):
		return true
	case p.commentAt(next):
		return next > at+size
	case r == '+':
		after, _ := runeAt(p.src, p.blanks(next+1))
		return quoteOf(after) != noQuote
	case quoteOf(r) != noQuote:
		return p.closesBefore(at+size, next, width)
	}
	return p.broken(at+size, next) && (top.mark != '{' && p.startsValue(next) || top.mark == '{' && p.keyAt(next))
}

// closesKey decides the same for a key.
func (p *parser) closesKey(end, next int) bool {
	if _, size := p.sepAt(next); size > 0 {
		return true
	}
	r, _ := runeAt(p.src, next)
	mark := markOf(r)
	if mark == ',' || isCloser(mark) || p.frameEnds(next) || p.commentAt(next) {
		return true
	}
	return next > end && (isOpener(mark) || quoteOf(r) != noQuote || p.startsValue(next))
}

// closesForeign decides for a quote that is not the string's own but of its family: a curly one behind a straight one.
// Texts are full of them, so it only counts when plain JSON follows and the string's own quote does not end it better.
func (p *parser) closesForeign(at, size int, key bool) bool {
	next := p.blanks(at + size)
	r, _ := runeAt(p.src, at)
	if p.strict || at < p.trusted || next >= len(p.src) || opens(r) > 0 || r != '"' && p.endsLater(at+size) {
		return false
	}
	c := p.src[next]
	switch {
	case key:
		return c == ':' && p.startsValue(p.blanks(next+1))
	case isCloser(c):
		after := p.blanks(next + 1)
		return after >= len(p.src) || p.src[after] == ',' || isCloser(p.src[after])
	case c == ',' && p.inObject():
		return p.quotedKeyAt(p.blanks(next + 1))
	case c == ',':
		return r == '"' && p.startsValue(p.blanks(next+1))
	}
	return false
}

// endsLater reports whether what follows the next straight quote could follow the end of a string, or whether that
// quote is too far away to tell.
func (p *parser) endsLater(at int) bool {
	for limit := at + maxAhead; at < limit; at++ {
		if at >= len(p.src) {
			return false
		}
		p.steps++
		switch p.src[at] {
		case '\\':
			at++
		case '"':
			next := p.blanks(at + 1)
			_, size := p.sepAt(next)
			return size > 0 || p.structural(next)
		}
	}
	return true
}

// outside reports whether what stands behind a closing bracket belongs to JSON and not to quoted prose.
func (p *parser) outside(at int) bool {
	next := p.blanks(at)
	if p.structural(next) || p.broken(at, next) {
		return true
	}
	r, _ := runeAt(p.src, next)
	return isOpener(markOf(r)) || quoteOf(r) != noQuote && p.keyAt(next)
}

// closesBefore decides for a quote that another one follows: a forgotten comma, a string in pieces, or quoted text at
// the end of the string.
func (p *parser) closesBefore(end, next, width int) bool {
	if next == end && p.structural(p.blanks(next+width)) {
		return false
	}
	return !p.inObject() || p.keyAt(next) || p.broken(end, next)
}

// comesNext decides whether a comma at the end of a string separates: a member, an element or an end follows.
func (p *parser) comesNext(at int, top *frame) bool {
	next := p.blanks(at)
	if next >= len(p.src) || p.broken(at, next) || p.commentAt(next) || p.frameEnds(next) || p.dots(next) > 0 {
		return true
	}
	r, _ := runeAt(p.src, next)
	mark := markOf(r)
	if isCloser(mark) || mark == ',' {
		return true
	}
	if top.mark == '{' {
		return p.keyAt(next)
	}
	if p.startsValue(next) {
		return true
	}
	word := p.tight(next, maxAhead)
	return word != "" && p.structural(p.blanks(next+len(word)))
}

// structural reports whether punctuation, a comment or an end stands at an offset.
func (p *parser) structural(at int) bool {
	if at >= len(p.src) {
		return true
	}
	r, _ := runeAt(p.src, at)
	mark := markOf(r)
	return mark == ',' || isCloser(mark) || p.commentAt(at) || p.frameEnds(at)
}
