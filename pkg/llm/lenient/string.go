package lenient

import "unicode/utf8"

// pause is a line break or comma inside a string, followed by a quote: the string may have been meant to end there.
type pause struct {
	// at is the position of the break or comma, out the length of the output there, quote the position of the quote after
	// it.
	at, out, quote int
	// blank is true while only blanks have followed; set is true once a quote has followed.
	blank, set bool
}

// stringReader reads strings for a parser and decides where they end.
type stringReader struct {
	p *parser
	// opened is where the last string began, closed where the last closed string began. Before trusted, quotes have their
	// JSON meaning, because a strict reading got that far.
	opened, closed, trusted int
}

// read reads a string, from its opening quote on.
func (sr *stringReader) read(key bool) {
	sr.opened = sr.p.pos
	r, size := runeAt(sr.p.src, sr.p.pos)
	if r != '"' {
		sr.p.note(Quote, sr.p.pos)
	}
	if at := sr.p.pos + size; !key && !sr.p.strict && at > sr.trusted && sr.p.ahead.payload(at) {
		sr.quotedPayload(at, quoteOf(r))
		return
	}
	sr.p.out = append(sr.p.out, '"')
	if size := sr.tripled(sr.p.pos); size > 0 {
		sr.raw(key, size)
		return
	}
	sr.p.pos += size
	sr.content(key, r)
}

// quotedPayload reads raw text whose markers are inside the quotes.
func (sr *stringReader) quotedPayload(at int, family quote) {
	// The string has begun already for an array; rawPayload begins it, so take that back.
	if top := sr.p.top(); top != nil && top.mark != '{' {
		sr.p.out = sr.p.out[:top.member]
		top.n--
	}
	sr.p.rawPayload(at)
	if r, size := runeAt(sr.p.src, sr.p.pos); quoteOf(r) == family {
		sr.p.pos += size
	}
}

// content reads the inside of a string that was opened by a quote, and its end.
func (sr *stringReader) content(key bool, opener rune) {
	family, broke, nested := quoteOf(opener), pause{}, 0
	for sr.p.pos < len(sr.p.src) && !sr.p.failed {
		sr.p.ahead.steps++
		c := sr.p.src[sr.p.pos]
		if plain(c) {
			sr.plainRun()
			broke.blank = sr.p.src[sr.p.pos-1] == ','
			if broke.blank {
				broke = pause{at: sr.p.pos - 1, out: len(sr.p.out) - 1, blank: true}
			}
			continue
		}
		r, size := runeAt(sr.p.src, sr.p.pos)
		switch {
		case r == '\\':
			if sr.escape(key, opener) {
				sr.end(key, 0)
				return
			}
		case quoteOf(r) == family && r != opener && !pairs(opener, r):
			if nested == 0 && sr.closesForeign(sr.p.pos, size, key) {
				sr.end(key, size)
				return
			}
			nested = max(0, nested+opens(r))
			sr.copy(r, size)
		case quoteOf(r) == family:
			if sr.closes(sr.p.pos, size, key) {
				sr.end(key, size)
				return
			}
			if sr.leftOpen(key, &broke, size) {
				return
			}
			sr.p.note(InnerQuote, sr.p.pos)
			sr.copy(r, size)
		case r < 0x20:
			sr.p.note(Control, sr.p.pos)
			if r == '\n' {
				broke = pause{at: sr.p.pos, out: len(sr.p.out), blank: true}
			}
			sr.copy(r, size)
		case r == utf8.RuneError && size == 1:
			if !utf8.FullRuneInString(sr.p.src[sr.p.pos:]) {
				sr.p.pos = len(sr.p.src)
				break
			}
			sr.p.note(Encoding, sr.p.pos)
			sr.copy(r, size)
		default:
			broke.blank = broke.blank && isSpace(r)
			sr.copy(r, size)
		}
	}
	sr.openEnd(key)
}

// plain reports whether an ASCII character means nothing but itself in any string; blanks are looked at one by one.
func plain(c byte) bool {
	return c > ' ' && c < utf8.RuneSelf && c != '"' && c != '\'' && c != '`' && c != '\\'
}

// plainRun copies a run of plain characters.
func (sr *stringReader) plainRun() {
	start := sr.p.pos
	for sr.p.pos < len(sr.p.src) && plain(sr.p.src[sr.p.pos]) {
		sr.p.pos++
	}
	sr.p.ahead.steps += sr.p.pos - start
	sr.p.out = append(sr.p.out, sr.p.src[start:sr.p.pos]...)
}

// copy copies one rune of a string.
func (sr *stringReader) copy(r rune, size int) {
	if r < utf8.RuneSelf {
		sr.p.out = appendByte(sr.p.out, byte(r))
	} else {
		sr.p.out = utf8.AppendRune(sr.p.out, r)
	}
	sr.p.pos += size
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

// opens counts curly quotes: +1 for an opening one, -1 for a closing one.
func opens(r rune) int {
	switch r {
	case '“', '„', '‟', '‘', '‚', '‛':
		return 1
	case '”', '’':
		return -1
	}
	return 0
}

// end closes a string whose closing quote is here.
func (sr *stringReader) end(key bool, size int) {
	sr.p.out = append(sr.p.out, '"')
	sr.closed = sr.opened
	sr.p.pos += size
	if key {
		sr.p.want = wantColon
		return
	}
	sr.p.done(true)
}

// openEnd closes a string in which the text ends. An unfinished key is removed.
func (sr *stringReader) openEnd(key bool) {
	if sr.p.strict || sr.p.failed {
		sr.p.failed = true
		return
	}
	sr.p.pos = len(sr.p.src)
	sr.end(key, 0)
	sr.p.cut = true
	if len(sr.p.stack) == 0 {
		sr.p.note(Cut, sr.p.pos)
	}
}

// leftOpen ends a string at a line break or comma if a member turns out to follow: the quote after the break opens a key,
// and this one, followed by a colon, closes it.
func (sr *stringReader) leftOpen(key bool, broke *pause, size int) bool {
	if broke.blank {
		broke.blank, broke.set, broke.quote = false, true, sr.p.pos
		return false
	}
	if key || !broke.set || !sr.p.inObject() {
		return false
	}
	if next := sr.p.ahead.blanks(sr.p.pos + size); next < len(sr.p.src) && markOf(rune(sr.p.src[next])) != ':' {
		broke.set = false
		return false
	}
	sr.p.note(OpenString, broke.at)
	sr.p.out = sr.p.out[:broke.out]
	for n := len(sr.p.out); n > 0 && (sr.p.out[n-1] == ' ' || sr.p.out[n-1] == ','); n-- {
		sr.p.out = sr.p.out[:n-1]
	}
	sr.p.pos = broke.quote
	sr.end(false, 0)
	sr.p.top().comma, sr.p.top().commas = true, true
	sr.p.want = wantKey
	return true
}
