package lenient

import "strings"

// candidates lists the repairs to try where the automaton broke, the likelier first.
func (m *mending) candidates(a *automaton) []repair {
	c := collector{a: a, src: m.src, cut: m.frame(a.pos)}
	switch a.stop {
	case inText:
		c.unclosed()
	case ranOut:
		c.comments()
		c.closers(a.last)
		c.members('}')
	default:
		c.broken()
	}
	return c.list
}

// frame returns where the frame around the value, or the text, ends.
func (m *mending) frame(at int) int {
	if i := strings.Index(m.src[at:min(len(m.src), at+2*lookAhead)], "\n```"); i >= 0 {
		return at + i
	}
	return len(m.src)
}

// collector collects candidates.
type collector struct {
	a    *automaton
	src  string
	cut  int
	list []repair
}

func (c *collector) add(kind Kind, cost int, edits ...edit) {
	c.list = append(c.list, repair{kind: kind, cost: cost, edits: edits})
}

// broken lists the candidates where a token does not fit.
func (c *collector) broken() {
	a := c.a
	r, size := runeAt(c.src, a.pos)
	mark := markOf(r)
	c.comments()
	c.marks()
	switch a.want {
	case wantKey:
		c.keyPlace(r, mark, size)
	case wantColon:
		c.colonPlace(r, mark)
	case wantValue:
		c.valuePlace(mark, size)
	default:
		c.nextPlace(r, mark, size)
	}
}

// marks removes marks of emphasis around a string or a word.
func (c *collector) marks() {
	from := c.a.pos
	run := len(c.src[from:]) - len(strings.TrimLeft(c.src[from:], "*"))
	if run == 0 || run > 3 {
		return
	}
	end := from + run
	if r, size := runeAt(c.src, end); quoteOf(r) != noQuote {
		_, end, _ = c.a.quoted(end+size, r)
	} else {
		end += len(c.a.ahead.tight(end, maxAhead))
	}
	edits := []edit{{at: from, del: run}}
	if mark := c.src[from : from+run]; strings.HasPrefix(c.src[end:], mark) {
		edits = append(edits, edit{at: end, del: run})
	}
	c.add(Wrapper, costChar-1, edits...)
}

// keyPlace lists the candidates where a key is expected.
func (c *collector) keyPlace(r rune, mark byte, size int) {
	a := c.a
	if a.members != nil && a.want == wantKey && c.repeated(r) {
		return
	}
	c.afterText()
	switch {
	case mark == '{' || mark == '[':
		if a.comma >= 0 {
			c.add(MissingCloser, costChar, edit{at: a.comma, ins: "}"})
		}
		c.listStart()
		c.members('}')
		c.add(ExtraOpener, costChar, edit{at: a.pos, del: size})
	case mark == ']':
		c.closers(a.last)
		c.add(ExtraCloser, costChar, edit{at: a.pos, del: size})
		c.members('}')
	case mark != 0:
		c.add(Junk, costChar, edit{at: a.pos, del: size})
	default:
		c.bare(true)
	}
}

// repeated lists the candidates for a key that the object already has: another object may begin here.
func (c *collector) repeated(r rune) bool {
	a := c.a
	name, ok := "", false
	if quoteOf(r) != noQuote {
		name, _, ok = a.quoted(a.pos+runeLen(r), r)
	} else if end := strings.IndexAny(c.src[a.pos:], ": \n\""); end > 0 {
		name, ok = c.src[a.pos:a.pos+end], true
	}
	if !ok || a.members.find(name) == nil {
		return false
	}
	if a.top.up != nil && a.top.up.mark == '[' {
		if a.comma >= 0 {
			c.add(MissingCloser, costSplit, edit{at: a.comma, ins: "}"}, edit{at: a.pos, ins: "{"})
		} else {
			c.add(MissingCloser, costSplit, edit{at: a.pos, ins: "},{"})
		}
	} else if a.top.up != nil && a.comma >= 0 {
		c.add(MissingCloser, costSplit, edit{at: a.comma, ins: "}"})
		c.members('}')
	}
	c.add(Repeated, 0)
	return true
}

func runeLen(r rune) int { return len(string(r)) }

// colonPlace lists the candidates where a colon is expected.
func (c *collector) colonPlace(r rune, mark byte) {
	a := c.a
	if quoteOf(r) != noQuote && a.pos == a.last {
		c.add(Doubled, costChar, edit{at: a.pos, del: runeLen(r)})
	}
	c.afterText()
	if mark == ',' || isCloser(mark) {
		c.listStart()
		if a.text.key && a.members != nil && a.members.up != nil {
			c.add(Junk, costUnlikely, edit{at: a.text.at, del: a.text.end - a.text.at})
		}
		return
	}
	if isOpener(mark) || quoteOf(r) != noQuote || a.ahead.startsValue(a.pos) {
		c.add(MissingColon, costChar, edit{at: a.last, ins: ":"})
	}
}

// valuePlace lists the candidates where a value is expected.
func (c *collector) valuePlace(mark byte, size int) {
	a := c.a
	switch {
	case mark == '}' || mark == ',' && a.top != nil && a.top.mark == '{':
		c.add(MissingValue, costUnlikely, edit{at: a.pos, ins: "null"})
		if mark == '}' && a.top.mark == '[' {
			c.closers(a.last)
			c.add(ExtraCloser, costChar, edit{at: a.pos, del: size})
		}
	case mark != 0:
		c.add(Junk, costChar, edit{at: a.pos, del: size})
		if mark == ':' {
			c.opened()
		}
	default:
		c.afterText()
		c.bare(false)
	}
}

// nextPlace lists the candidates where a comma or a closer is expected.
func (c *collector) nextPlace(r rune, mark byte, size int) {
	a := c.a
	if a.top.mark == '{' && a.ahead.keyAt(a.pos) && a.text.end != a.last && c.repeated(r) {
		return
	}
	switch {
	case isCloser(mark):
		c.closers(a.last)
		if own := a.top.mark + 2; own != mark {
			c.add(MissingCloser, costChar, edit{at: a.pos, del: size, ins: string(own)})
		}
		if mark == ']' && a.top.mark == '{' {
			c.listStart()
		}
		c.members('}')
		c.add(ExtraCloser, costChar, edit{at: a.pos, del: size})
		return
	case mark == ':':
		c.opened()
		c.members(']')
		c.afterText()
		return
	}
	if quoteOf(r) != noQuote && a.pos == a.last {
		cost := costChar
		if _, ok := literal(c.src[max(0, a.scalar.at):max(0, a.scalar.end)]); ok && a.pos == a.scalar.end {
			cost = 0
		}
		c.add(Doubled, cost, edit{at: a.pos, del: size})
	}
	c.afterText()
	c.afterScalar()
	if a.top.mark == '{' && a.top.up != nil && mark == '{' {
		c.add(MissingCloser, costSplit, edit{at: a.last, ins: "},"})
	}
	if mark != 0 {
		c.add(MissingComma, costChar, edit{at: a.last, ins: ","})
		return
	}
	if a.ahead.startsValue(a.pos) || a.top.mark == '{' && a.ahead.keyAt(a.pos) {
		c.add(MissingComma, costChar, edit{at: a.last, ins: ","})
	} else if isWord(r) {
		c.add(MissingComma, costChar+costText, edit{at: a.last, ins: ","}, edit{at: a.pos, ins: `"`}, edit{at: c.bareEnd(a.pos, false), ins: `"`})
		c.add(MissingComma, costChar+costUnlikely, edit{at: a.last, ins: ","}, edit{at: a.pos, ins: `"`})
	}
	cost := costUnlikely
	if a.scalar.end == a.last {
		cost = costText
	}
	c.add(Junk, cost, edit{at: a.pos, del: max(1, len(a.ahead.tight(a.pos, maxAhead)))})
}

// closers inserts the missing closers before the one at an offset, or before the end.
func (c *collector) closers(at int) {
	r, _ := runeAt(c.src, c.a.pos)
	want, missing := markOf(r), ""
	if c.a.pos >= c.cut || c.a.stop == ranOut {
		want = 0
	}
	for b := c.a.top; b != nil; b = b.up {
		if want != 0 && slot(b.mark) == slot(want) {
			break
		}
		if b.up == nil && want != 0 || len(missing) > 8 {
			return
		}
		missing += string(b.mark + 2)
	}
	if missing != "" {
		c.add(MissingCloser, costChar+len(missing)-1, edit{at: at, ins: missing})
	}
}

// maxEarlier limits how many members back a closer is tried.
const maxEarlier = 3

// members inserts a closer before one of the latest members of the current object, or of the one that was closed last.
func (c *collector) members(mark byte) {
	if mark == ']' {
		if c.a.comma < 0 && c.a.top.mark == '[' && c.a.text.end == c.a.last {
			if at := strings.LastIndexByte(c.src[:c.a.text.at], ','); at > c.a.top.at {
				c.add(MissingCloser, costChar, edit{at: at, ins: "]"})
			}
		}
		return
	}
	lists := [2]*member{}
	if c.a.top.mark == '{' {
		lists[0] = c.a.members
	}
	if b := c.a.closed; b != nil && b.mark == '{' {
		lists[1] = b.members
	}
	for _, list := range lists {
		for n, one := 0, list; one != nil && one.up != nil && n < maxEarlier; one = one.up {
			if one.comma >= 0 {
				c.add(MissingCloser, costChar, edit{at: one.comma, ins: "}"})
				n++
			}
		}
	}
}

// listStart opens an array where the value of the latest member begins.
func (c *collector) listStart() {
	if c.a.members == nil || c.a.given <= c.a.top.at {
		return
	}
	cost := costChar
	if c.src[c.a.given] == '[' {
		cost += costUnlikely
	}
	c.add(MissingOpener, cost, edit{at: c.a.given, ins: "["})
}

// opened opens an object before the last string, which turned out to be a key.
func (c *collector) opened() {
	if t := c.a.text; t.end == c.a.last && t.at >= 0 {
		c.add(MissingOpener, costChar, edit{at: t.at, ins: "{"})
	}
}
