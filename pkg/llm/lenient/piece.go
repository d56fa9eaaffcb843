package lenient

import "strings"

// joins reports whether another piece of the string follows: after a plus, or directly where no comma can be missing.
func (sr *stringReader) joins(r rune, size int) bool {
	if !sr.p.joinable {
		return false
	}
	top := sr.p.top()
	if r == '+' {
		after, _ := runeAt(sr.p.src, sr.p.ahead.blanks(sr.p.pos+size))
		return quoteOf(after) != noQuote
	}
	if quoteOf(r) == noQuote {
		return false
	}
	return top.mark == '(' || top.mark == '{' && !sr.p.ahead.keyAt(sr.p.pos)
}

// join appends a piece to the string just read.
func (sr *stringReader) join() {
	sr.p.note(Joined, sr.p.pos)
	if sr.p.src[sr.p.pos] == '+' {
		sr.p.pos = sr.p.ahead.blanks(sr.p.pos + 1)
	}
	sr.p.out = sr.p.out[:len(sr.p.out)-1]
	r, size := runeAt(sr.p.src, sr.p.pos)
	if size := sr.tripled(sr.p.pos); size > 0 {
		sr.raw(false, size)
		return
	}
	sr.p.pos += size
	sr.content(false, r)
}

// tripled returns the length of an opening triple quote, or 0.
func (sr *stringReader) tripled(at int) int {
	if sr.p.strict || at < sr.trusted || at+3 > len(sr.p.src) {
		return 0
	}
	if three := sr.p.src[at : at+3]; three == `"""` || three == `'''` {
		return 3
	}
	return 0
}

// raw reads a string between triple quotes, in which quotes and line breaks stand for themselves.
func (sr *stringReader) raw(key bool, size int) {
	sr.p.note(Quote, sr.p.pos)
	ends := sr.p.src[sr.p.pos : sr.p.pos+size]
	sr.p.pos += size
	for sr.p.pos < len(sr.p.src) && !sr.p.failed {
		sr.p.ahead.steps++
		r, width := runeAt(sr.p.src, sr.p.pos)
		switch {
		case strings.HasPrefix(sr.p.src[sr.p.pos:], ends):
			sr.end(key, size)
			return
		case r == '\\':
			sr.escape(true, '"')
		default:
			sr.copy(r, width)
		}
	}
	sr.openEnd(key)
}
