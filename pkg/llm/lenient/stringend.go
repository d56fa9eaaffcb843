package lenient

// closes decides whether a quote of the string's own kind, at an offset, ends the string. It does if the text so far was valid
// JSON, or if what follows could follow a string.
func (sr *stringReader) closes(at, size int, key bool) bool {
	if sr.p.strict || at < sr.trusted {
		return true
	}
	next := sr.p.ahead.blanks(at + size)
	if next >= len(sr.p.src) {
		return true
	}
	if key {
		return sr.closesKey(at+size, next)
	}
	r, width := runeAt(sr.p.src, next)
	mark, top := markOf(r), sr.p.top()
	switch {
	case top == nil:
		return false
	case mark == ',':
		return sr.comesNext(next+width, top)
	case mark == ')':
		return top.mark == '(' || sr.p.ahead.structural(sr.p.ahead.blanks(next+width))
	case isCloser(mark):
		return len(sr.p.stack) == 1 || sr.outside(next+width)
	case sr.p.ahead.frameEnds(next):
		return true
	case sr.p.ahead.commentAt(next):
		return next > at+size
	case r == '+':
		after, _ := runeAt(sr.p.src, sr.p.ahead.blanks(next+1))
		return quoteOf(after) != noQuote
	case quoteOf(r) != noQuote:
		return sr.closesBefore(at+size, next, width)
	}
	return sr.p.ahead.broken(at+size, next) && (top.mark != '{' && sr.p.ahead.startsValue(next) || top.mark == '{' && sr.p.ahead.keyAt(next))
}

// closesKey decides the same for a key.
func (sr *stringReader) closesKey(end, next int) bool {
	if _, size := sr.p.ahead.sepAt(next); size > 0 {
		return true
	}
	r, _ := runeAt(sr.p.src, next)
	mark := markOf(r)
	if mark == ',' || isCloser(mark) || sr.p.ahead.frameEnds(next) || sr.p.ahead.commentAt(next) {
		return true
	}
	return next > end && (isOpener(mark) || quoteOf(r) != noQuote || sr.p.ahead.startsValue(next))
}

// closesForeign decides the same for another quote of the string's family, such as a curly one after a straight one. Such quotes
// are common in texts, so it counts only if plain JSON follows and the string's own quote is not a better end.
func (sr *stringReader) closesForeign(at, size int, key bool) bool {
	next := sr.p.ahead.blanks(at + size)
	r, _ := runeAt(sr.p.src, at)
	if sr.p.strict || at < sr.trusted || next >= len(sr.p.src) || opens(r) > 0 || r != '"' && sr.p.ahead.endsLater(at+size) {
		return false
	}
	c := sr.p.src[next]
	switch {
	case key:
		return c == ':' && sr.p.ahead.startsValue(sr.p.ahead.blanks(next+1))
	case isCloser(c):
		after := sr.p.ahead.blanks(next + 1)
		return after >= len(sr.p.src) || sr.p.src[after] == ',' || isCloser(sr.p.src[after])
	case c == ',' && sr.p.inObject():
		return sr.p.ahead.quotedKeyAt(sr.p.ahead.blanks(next + 1))
	case c == ',':
		return r == '"' && sr.p.ahead.startsValue(sr.p.ahead.blanks(next+1))
	}
	return false
}

// outside reports whether what follows a closing bracket belongs to JSON and not to quoted prose.
func (sr *stringReader) outside(at int) bool {
	next := sr.p.ahead.blanks(at)
	if sr.p.ahead.structural(next) || sr.p.ahead.broken(at, next) {
		return true
	}
	r, _ := runeAt(sr.p.src, next)
	return isOpener(markOf(r)) || quoteOf(r) != noQuote && sr.p.ahead.keyAt(next)
}

// closesBefore decides about a quote that is followed by another quote: a comma is missing, the string comes in pieces, or quoted
// text ends the string.
func (sr *stringReader) closesBefore(end, next, width int) bool {
	if next == end && sr.p.ahead.structural(sr.p.ahead.blanks(next+width)) {
		return false
	}
	return !sr.p.inObject() || sr.p.ahead.keyAt(next) || sr.p.ahead.broken(end, next)
}

// comesNext decides whether a comma after a string is a separator: a member, an element or an end follows.
func (sr *stringReader) comesNext(at int, top *frame) bool {
	next := sr.p.ahead.blanks(at)
	if next >= len(sr.p.src) || sr.p.ahead.broken(at, next) || sr.p.ahead.commentAt(next) || sr.p.ahead.frameEnds(next) || sr.p.ahead.dots(next) > 0 {
		return true
	}
	r, _ := runeAt(sr.p.src, next)
	mark := markOf(r)
	if isCloser(mark) || mark == ',' {
		return true
	}
	if top.mark == '{' {
		return sr.p.ahead.keyAt(next)
	}
	if sr.p.ahead.startsValue(next) {
		return true
	}
	word := sr.p.ahead.tight(next, maxAhead)
	return word != "" && sr.p.ahead.structural(sr.p.ahead.blanks(next+len(word)))
}
