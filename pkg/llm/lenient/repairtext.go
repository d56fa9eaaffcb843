package lenient

import "strings"

// unclosed lists the candidates for a string in which the text ends.
func (c *collector) unclosed() {
	t := c.a.text
	end := max(t.end, t.at+1)
	if t.key {
		c.keyEnd(t.at+1, end)
	}
	c.ending(t.at+1, end, false)
	if t.at > 0 && c.src[t.at-1] == '"' {
		c.add(Doubled, costChar, edit{at: t.at, del: 1})
	}
	if i := strings.IndexByte(c.src[t.at+1:end], '\n'); i >= 0 {
		c.endAt(t.at+1, t.at+1+i)
	}
	c.add(Doubled, costChar, edit{at: t.at, del: 1})
	c.comments()
}

// keyEnd closes a key before the colon in it.
func (c *collector) keyEnd(from, end int) {
	for at := from; at < end && at < from+maxAhead; {
		r, size := runeAt(c.src, at)
		if markOf(r) == ':' {
			c.add(OpenString, costChar, edit{at: at, ins: `"`})
			return
		}
		at += size
	}
}

// ending closes a string before the punctuation at its end; with wide also before numbers and literals there.
func (c *collector) ending(from, end int, wide bool) {
	at := structureFrom(c.src, from, end)
	if at < end {
		c.endAt(from, at)
	}
	if !wide {
		return
	}
	for at > from {
		word := strings.LastIndexAny(c.src[from:at], ", \n") + from + 1
		if _, ok := literal(c.src[word:at]); !ok && !isJSONNumber(c.src[word:at]) || word == from {
			return
		}
		before := structureFrom(c.src, from, word)
		if before == word || !strings.ContainsAny(c.src[before:word], ",\n") {
			return
		}
		at = before
		c.endAt(from, at)
	}
}

// structureFrom returns where the punctuation and spaces at the end of a piece of text begin.
func structureFrom(src string, from, end int) int {
	for end > from && strings.IndexByte(" \t\r\n,]}[{", src[end-1]) >= 0 {
		end--
	}
	return end
}

// endAt closes a string before an offset, and leaves a comma in front of it outside.
func (c *collector) endAt(from, at int) {
	at = structureFrom(c.src, from, at)
	c.add(OpenString, costChar, edit{at: at, ins: `"`})
}

// afterText lists what may be wrong with the latest string: it should have ended earlier or later, its quotes are doubled, or it is
// JSON.
func (c *collector) afterText() {
	t := c.a.text
	if t.at < 0 || t.end != c.a.last && t.end != c.a.pos {
		return
	}
	if t.odd {
		c.apostrophes(t)
		return
	}
	c.unquoted(t)
	path := c.backslash(t)
	if c.otherQuote(t) {
		return
	}
	if t.end == t.at+2 {
		c.doubled(t)
	}
	if t.key {
		c.keyEnd(t.at+1, t.end-1)
	}
	if !path {
		c.ending(t.at+1, t.end-1, true)
	}
	c.later(t)
}

// doubled removes the second of two opening quotes, and one of two closing quotes.
func (c *collector) doubled(t span) {
	if i := strings.Index(c.src[t.end:min(len(c.src), t.end+lookAhead)], `""`); i > 0 && strings.IndexByte(c.src[t.end:t.end+i], '"') < 0 {
		c.add(Doubled, costChar-1, edit{at: t.end - 1, del: 1}, edit{at: t.end + i, del: 1})
		return
	}
	c.add(Doubled, costChar, edit{at: t.end - 1, del: 1})
}

// maxInner limits the quotes that are treated as content.
const maxInner = 24

// later treats the quotes from the end of the string on as content, up to one that could end it.
func (c *collector) later(t span) {
	var inner []edit
	found := 0
	for at := t.end - 1; at < len(c.src) && len(inner) <= maxInner && found < 2; {
		next := quoteFrom(c.src, at+1)
		inner = append(inner, edit{at: at, ins: `\`})
		if next >= min(len(c.src), c.cut) {
			return
		}
		if c.mayEnd(next+1, t.key) {
			cost := costPair + (len(inner)-1)/4 + c.unlike(t, next)
			inch := len(inner) == 1 && isDigit(c.src[t.end-2])
			if len(inner)%2 == 1 && !inch {
				cost += costUnlikely
			}
			c.add(InnerQuote, cost, append([]edit(nil), inner...)...)
			found++
		}
		at = next
	}
}

// unlike weighs the reasons against quotes inside a string that ends at an offset: it is a key, structure would become part of the
// text, or nothing stands between the quotes.
func (c *collector) unlike(t span, end int) int {
	inner := c.src[t.end-1 : end]
	cost := 0
	if t.key || t.end == t.at+2 {
		cost += costUnlikely
	}
	if apart(inner) {
		cost += costUnlikely + costChar
	}
	if strings.IndexByte(inner, '\n') >= 0 {
		cost += costText
	}
	if next := c.a.ahead.blanks(t.end); next < end && (c.src[next] == ',' || isCloser(c.src[next])) {
		cost += costUnlikely
	}
	depth := 0
	for at := t.at + 1; at < end; at++ {
		c.a.ahead.steps++
		switch c.src[at] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			next := c.a.ahead.blanks(at + 1)
			if next < end && c.src[next] == ':' && depth <= 0 {
				return cost + costUnlikely
			}
		}
		if depth < 0 {
			return cost + costUnlikely
		}
	}
	if depth != 0 {
		cost += costUnlikely
	}
	return cost
}

// apart reports whether quotes in a text look like those between two elements: between the first two are only spaces, or a comma.
func apart(inner string) bool {
	for i, part := range strings.Split(inner, `"`)[1:] {
		part = strings.TrimSpace(part)
		if i == 0 && part == "" || i > 0 && part == "," {
			return true
		}
	}
	return false
}

// mayEnd reports whether the text at an offset could follow a string.
func (c *collector) mayEnd(at int, key bool) bool {
	at = c.a.ahead.blanks(at)
	if at >= len(c.src) {
		return true
	}
	r, _ := runeAt(c.src, at)
	mark := markOf(r)
	if key {
		return mark == ':'
	}
	if mark == ',' && c.a.top != nil && c.a.top.mark == '{' {
		return c.a.ahead.keyAt(c.a.ahead.blanks(at + 1))
	}
	return mark == ',' || isCloser(mark)
}

// apostrophes treats the end of a string in single quotes as content, up to one that could end it.
func (c *collector) apostrophes(t span) {
	var inner []edit
	for at := t.end - 1; len(inner) < maxInner; {
		inner = append(inner, edit{at: at, ins: `\`})
		i := strings.IndexByte(c.src[at+1:c.cut], '\'')
		if i < 0 {
			return
		}
		if at += 1 + i; c.mayEnd(at+1, t.key) {
			c.add(InnerQuote, costPair, inner...)
			return
		}
	}
}

// backslash treats a backslash before a quote that could end the string as a literal one, as in a path.
func (c *collector) backslash(t span) bool {
	for at := t.at + 1; at < t.end-1 && at < t.at+lookAhead; at++ {
		if c.src[at] != '\\' {
			continue
		}
		at++
		if c.src[at] == '"' && c.mayEnd(at+1, t.key) {
			c.add(Escape, costChar-1, edit{at: at, ins: `\`})
			return true
		}
	}
	return false
}

// otherQuote ends the string at a closing quote of the same family that closes nothing inside it.
func (c *collector) otherQuote(t span) bool {
	nested := 0
	for at := t.at + 1; at < t.end-1 && at < t.at+lookAhead; {
		r, size := runeAt(c.src, at)
		if r != '"' && quoteOf(r) == doubleQuote {
			nested += opens(r)
			if nested < 0 && c.mayEnd(at+size, t.key) {
				c.add(Quote, costChar, edit{at: at, del: size, ins: `"`})
				return true
			}
		}
		at += max(1, size)
	}
	return false
}

// unquoted treats JSON in quotes as JSON, or all of it as the content of the string.
func (c *collector) unquoted(t span) {
	at := c.a.ahead.blanks(t.at + 1)
	if t.key || at >= len(c.src) || c.src[at] != '{' && c.src[at] != '[' {
		return
	}
	sub := newAutomaton(c.a.ahead.opts, c.src[:min(len(c.src), at+lookAhead)], at, nil)
	sub.run()
	c.a.ahead.steps += sub.ahead.steps
	end := sub.ahead.blanks(sub.pos)
	if sub.stop != finished || end >= len(c.src) || c.src[end] != '"' {
		return
	}
	c.add(Encoded, costPair, edit{at: t.at, del: 1}, edit{at: end, del: 1})
	var inner []edit
	for q := quoteFrom(c.src, t.at+1); q < end; q = quoteFrom(c.src, q+1) {
		inner = append(inner, edit{at: q, ins: `\`})
	}
	c.add(InnerQuote, costPair, inner...)
}

// bare lists the candidates for a word without quotes: its opening quote is missing, or both are.
func (c *collector) bare(key bool) {
	at := c.a.pos
	if quote := quoteFrom(c.src, at); quote < min(len(c.src), c.cut) && strings.IndexByte(c.src[at:quote], '\n') < 0 {
		c.add(Quote, costChar, edit{at: at, ins: `"`})
	}
	if key {
		end := c.a.ahead.bareKeyEnd(at)
		if _, size := c.a.ahead.sepAt(end); size > 0 && end > at {
			c.add(BareKey, costText, edit{at: at, ins: `"`}, edit{at: end, ins: `"`})
		}
		return
	}
	for _, far := range [...]bool{false, true} {
		if end := c.bareEnd(at, far); end > at {
			c.add(BareText, costText, edit{at: at, ins: `"`}, edit{at: end, ins: `"`})
			c.words(at, end)
		}
	}
	c.add(Junk, costUnlikely, edit{at: at, del: max(1, len(c.a.ahead.tight(at, maxAhead)))})
}

// words treats the first of several words in an array as a separate element.
func (c *collector) words(at, end int) {
	if i := strings.IndexByte(c.src[at:end], ' '); i > 0 && c.a.top != nil && c.a.top.mark == '[' {
		c.add(BareText, costText, edit{at: at, ins: `"`}, edit{at: at + i, ins: `", "`}, edit{at: end, ins: `"`})
	}
}

// bareEnd returns where a text without quotes ends: at a bracket, a quote, a comment, the end of the line, or a comma; with far
// only at a comma before a key.
func (c *collector) bareEnd(at int, far bool) int {
	start := at
	for at < len(c.src) && at < start+lookAhead {
		r, size := runeAt(c.src, at)
		mark := markOf(r)
		if r == '\n' || isCloser(mark) && mark != ')' || quoteOf(r) == doubleQuote && r == '"' || c.a.ahead.frameEnds(at) {
			break
		}
		if mark == ',' && (!far || c.a.ahead.keyAt(c.a.ahead.blanks(at+size))) {
			break
		}
		if (c.src[at] == '/' || c.src[at] == '#') && at > start && isPlainSpace(c.src[at-1]) && c.a.ahead.commentAt(at) {
			break
		}
		at += size
	}
	for at > start && isPlainSpace(c.src[at-1]) {
		at--
	}
	return at
}

// afterScalar treats the latest number or literal as the beginning of a text.
func (c *collector) afterScalar() {
	s := c.a.scalar
	if s.at < 0 || s.end != c.a.last {
		return
	}
	if quote := quoteFrom(c.src, s.end); quote < len(c.src) && strings.IndexByte(c.src[s.end:quote], '\n') < 0 {
		c.add(Quote, costChar, edit{at: s.at, ins: `"`})
	}
	if end := c.bareEnd(s.end, false); end > s.end && !c.a.ahead.keyAt(c.a.pos) {
		c.add(BareText, costText, edit{at: s.at, ins: `"`}, edit{at: end, ins: `"`})
	}
}

// comments ends the latest comment before what looks like structure in it.
func (c *collector) comments() {
	t := c.a.remark
	if t.at < 0 || c.a.pos-t.end > maxAhead {
		return
	}
	text := c.src[t.at:min(t.end, t.at+lookAhead)]
	ins := "\n"
	if strings.HasPrefix(text, "/*") {
		ins = "*/"
		if i := strings.IndexByte(text, '\n'); i >= 0 {
			c.add(Comment, costChar, edit{at: t.at + i, ins: ins})
		}
	}
	found := 0
	for i := 2; i < len(text) && found < 3; i++ {
		switch at := t.at + i; {
		case text[i] == '"' && c.a.ahead.quotedKeyAt(at), text[i] == '}', text[i] == ']', text[i] == ',' && c.a.ahead.memberAt(c.a.ahead.blanks(at+1)):
			c.add(Comment, costChar, edit{at: at, ins: ins})
			found++
			i += max(0, len(text[i:])-len(strings.TrimLeft(text[i:], "]}, \""))-1)
		}
	}
}
