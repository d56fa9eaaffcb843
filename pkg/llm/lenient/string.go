package lenient

import "unicode/utf8"

// pause remembers a line break or comma of a string that a quote follows: where the string may have been meant to end.
type pause struct {
	// at is the break or comma, out the length of the output there, quote the quote behind it.
	at, out, quote int
	// blank says that only blanks have followed; set, that a quote has.
	blank, set bool
}

// string reads a string, from its opening quote on.
func (p *parser) string(key bool) {
	p.opened = p.pos
	r, size := runeAt(p.src, p.pos)
	if r != '"' {
		p.note(Quote, p.pos)
	}
	if at := p.pos + size; !key && !p.strict && at > p.trusted && p.payload(at) {
		p.quotedPayload(at, quoteOf(r))
		return
	}
	p.out = append(p.out, '"')
	if size := p.tripled(p.pos); size > 0 {
		p.raw(key, size)
		return
	}
	p.pos += size
	p.content(key, r)
}

// quotedPayload reads raw text whose markers stand inside the quotes.
func (p *parser) quotedPayload(at int, family quote) {
	// The string has begun already for an array; rawPayload begins it, so take that back.
	if top := p.top(); top != nil && top.mark != '{' {
		p.out = p.out[:top.member]
		top.n--
	}
	p.rawPayload(at)
	if r, size := runeAt(p.src, p.pos); quoteOf(r) == family {
		p.pos += size
	}
}

// content reads the inside of a string that was opened by a quote, and its end.
func (p *parser) content(key bool, opener rune) {
	family, broke, nested := quoteOf(opener), pause{}, 0
	for p.pos < len(p.src) && !p.failed {
		p.steps++
		c := p.src[p.pos]
		if plain(c) {
			p.plainRun()
			broke.blank = p.src[p.pos-1] == ','
			if broke.blank {
				broke = pause{at: p.pos - 1, out: len(p.out) - 1, blank: true}
			}
			continue
		}
		r, size := runeAt(p.src, p.pos)
		switch {
		case r == '\\':
			if p.escape(key, opener) {
				p.endString(key, 0)
				return
			}
		case quoteOf(r) == family && r != opener && !pairs(opener, r):
			if nested == 0 && p.closesForeign(p.pos, size, key) {
				p.endString(key, size)
				return
			}
			nested = max(0, nested+opens(r))
			p.copy(r, size)
		case quoteOf(r) == family:
			if p.closes(p.pos, size, key) {
				p.endString(key, size)
				return
			}
			if p.leftOpen(key, &broke, size) {
				return
			}
			p.note(InnerQuote, p.pos)
			p.copy(r, size)
		case r < 0x20:
			p.note(Control, p.pos)
			if r == '\n' {
				broke = pause{at: p.pos, out: len(p.out), blank: true}
			}
			p.copy(r, size)
		case r == utf8.RuneError && size == 1:
			if !utf8.FullRuneInString(p.src[p.pos:]) {
				p.pos = len(p.src)
				break
			}
			p.note(Encoding, p.pos)
			p.copy(r, size)
		default:
			broke.blank = broke.blank && isSpace(r)
			p.copy(r, size)
		}
	}
	p.openEnd(key)
}

// plain is an ASCII character that means nothing but itself in any string; blanks are looked at one by one.
func plain(c byte) bool {
	return c > ' ' && c < utf8.RuneSelf && c != '"' && c != '\'' && c != '`' && c != '\\'
}

// plainRun copies plain characters at once.
func (p *parser) plainRun() {
	start := p.pos
	for p.pos < len(p.src) && plain(p.src[p.pos]) {
		p.pos++
	}
	p.steps += p.pos - start
	p.out = append(p.out, p.src[start:p.pos]...)
}

// copy takes over one rune of a string.
func (p *parser) copy(r rune, size int) {
	if r < utf8.RuneSelf {
		p.out = appendByte(p.out, byte(r))
	} else {
		p.out = utf8.AppendRune(p.out, r)
	}
	p.pos += size
}

// pairs reports whether a quote is the usual closing one of an opening one.
func pairs(opener, closer rune) bool {
	switch opener {
	case '“', '„', '‟', '＂':
		return closer == '”' || closer == '“' || closer == '＂'
	case '‘', '‚', '‛', '＇':
		return closer == '’' || closer == '‘' || closer == '＇'
	case '”', '’':
		return true
	case '「', '『', '«', '»', '‹', '›':
		return true
	}
	return false
}

// opens counts a curly quote: one more open, or one closed.
func opens(r rune) int {
	switch r {
	case '“', '„', '‟', '‘', '‚', '‛':
		return 1
	case '”', '’':
		return -1
	}
	return 0
}

// endString closes a string whose closing quote stands here.
func (p *parser) endString(key bool, size int) {
	p.out = append(p.out, '"')
	p.closed = p.opened
	p.pos += size
	if key {
		p.want = wantColon
		return
	}
	p.done(true)
}

// openEnd closes a string that the text ends in. A key without its end is taken back.
func (p *parser) openEnd(key bool) {
	if p.strict || p.failed {
		p.failed = true
		return
	}
	p.pos = len(p.src)
	p.endString(key, 0)
	p.cut = true
	if len(p.stack) == 0 {
		p.note(Cut, p.pos)
	}
}

// leftOpen ends a string at a line break or comma, when a member turns out to follow: the quote behind the break opens a
// key and this one, which a colon follows, closes it.
func (p *parser) leftOpen(key bool, broke *pause, size int) bool {
	if broke.blank {
		broke.blank, broke.set, broke.quote = false, true, p.pos
		return false
	}
	if key || !broke.set || !p.inObject() {
		return false
	}
	if next := p.blanks(p.pos + size); next < len(p.src) && markOf(rune(p.src[next])) != ':' {
		broke.set = false
		return false
	}
	p.note(OpenString, broke.at)
	p.out = p.out[:broke.out]
	for n := len(p.out); n > 0 && (p.out[n-1] == ' ' || p.out[n-1] == ','); n-- {
		p.out = p.out[:n-1]
	}
	p.pos = broke.quote
	p.endString(false, 0)
	p.top().comma, p.top().commas = true, true
	p.want = wantKey
	return true
}
