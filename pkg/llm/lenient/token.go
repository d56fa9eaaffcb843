package lenient

import (
	"slices"
	"strings"
)

// value reads the start of a value.
func (a *automaton) value() {
	r, size := runeAt(a.src, a.pos)
	mark := markOf(r)
	inArray := a.top != nil && a.top.mark == '['
	switch {
	case quoteOf(r) != noQuote:
		a.string(false)
	case mark == '{' || mark == '[':
		a.push(mark, size)
	case mark == ']' && inArray:
		a.pop(size)
	case mark == ',' && inArray:
		a.pos += size
	case mark == '(' || a.ahead.dots(a.pos) > 0:
		a.stop = foreign
	case mark != 0:
		a.stop = broken
	case a.ahead.payload(a.pos):
		a.payload()
	default:
		a.word()
	}
}

// payload reads raw text between markers.
func (a *automaton) payload() {
	o := a.ahead.opts
	rest := a.src[a.pos+len(o.PayloadStart):]
	text, _, found := strings.Cut(rest, o.PayloadEnd)
	if !found {
		a.stop = foreign
		return
	}
	a.begin(kindString, a.pos)
	a.mix('"', text)
	a.pos += len(o.PayloadStart) + len(text) + len(o.PayloadEnd)
	a.done()
}

// word reads a literal or a number.
func (a *automaton) word() {
	word := a.ahead.tight(a.pos, maxAhead)
	for _, mark := range [...]string{"//", "/*", "#"} {
		word, _, _ = strings.Cut(word, mark)
	}
	end := a.pos + len(word)
	if a.calls(word, end) {
		a.stop = foreign
		return
	}
	kind := kindNumber
	plain, ok := literal(word)
	switch {
	case !ok:
		plain, ok = number(word)
	case plain == "null":
		kind = kindNull
	default:
		kind = kindBoolean
	}
	if !ok {
		a.stop = broken
		return
	}
	a.begin(kind, a.pos)
	a.mix('w', plain)
	a.scalar = span{at: a.pos, end: end}
	a.pos = end
	a.done()
}

// calls reports whether a word is a function call, a constructor or the prefix of a string.
func (a *automaton) calls(word string, end int) bool {
	if word == "" || end >= len(a.src) {
		return false
	}
	c := a.src[end]
	return c == '(' || word == "new" && c == ' ' || (c == '"' || c == '\'') && len(word) <= 2 && strings.Trim(word, "ubrfUBRF") == ""
}

// string reads a string that ends at its next quote.
func (a *automaton) string(key bool) {
	opener, size := runeAt(a.src, a.pos)
	at := a.pos
	if three := a.src[at:min(len(a.src), at+3)]; three == `"""` || three == `'''` {
		a.stop = foreign
		return
	}
	if !key && a.ahead.payload(at+size) {
		a.stop = foreign
		return
	}
	content, end, closed := a.quoted(at+size, opener)
	if !closed {
		a.stop, a.text = inText, span{at: at, end: end, key: key, odd: opener != '"'}
		return
	}
	found := span{at: at, end: end, key: key, odd: opener != '"'}
	if key {
		a.named(content, found)
		return
	}
	a.begin(kindString, at)
	a.fitsWords(content)
	a.mix('"', content)
	a.text, a.pos = found, end
	a.done()
}

// fitsWords checks a string against the allowed words.
func (a *automaton) fitsWords(content string) {
	if a.shape != nil && len(a.shape.words) > 0 && !slices.Contains(a.shape.words, content) {
		a.misfit++
	}
}

// quoted returns the content of a string and where it ends.
func (a *automaton) quoted(from int, opener rune) (content string, end int, closed bool) {
	if opener == '"' {
		end = quoteFrom(a.src, from)
		a.ahead.steps += min(end, len(a.src)) - from
		if at := a.frameIn(from, end); at >= 0 {
			return "", at, false
		}
		if end >= len(a.src) {
			return "", len(a.src), false
		}
		return a.src[from:end], end + 1, true
	}
	family := quoteOf(opener)
	for at := from; at < len(a.src); {
		a.ahead.steps++
		r, size := runeAt(a.src, at)
		switch {
		case r == '\\':
			at++
		case quoteOf(r) == family && (r == opener && opens(r) <= 0 || pairs(opener, r)):
			return a.src[from:at], at + size, true
		}
		at += max(1, size)
	}
	return "", len(a.src), false
}

// frameIn returns where a frame around the value ends inside a string, or -1.
func (a *automaton) frameIn(from, end int) int {
	text := a.src[from:min(end, len(a.src))]
	if i := strings.Index(text, "\n```"); i >= 0 {
		return from + i
	}
	for _, tag := range a.ahead.opts.Tags {
		if size := closingTag(text, strings.ToLower(tag)); size >= 0 {
			return from + size - len("</>") - len(tag)
		}
	}
	return -1
}

// quoteFrom returns the offset of the next quote that no backslash precedes, or the length of the text.
func quoteFrom(src string, from int) int {
	for from < len(src) {
		i := strings.IndexAny(src[from:], "\"\\")
		if i < 0 {
			return len(src)
		}
		from += i
		if src[from] == '"' {
			return from
		}
		from += 2
	}
	return len(src)
}
