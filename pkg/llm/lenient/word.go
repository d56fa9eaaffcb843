package lenient

import (
	"strings"
	"unicode/utf8"
)

// literal returns the JSON for a literal of any language, and whether there is one.
func literal(word string) (string, bool) {
	if len(word) > len("undefined") {
		return "", false
	}
	switch strings.ToLower(word) {
	case "true":
		return "true", true
	case "false":
		return "false", true
	case "null", "none", "nil", "undefined", "nan", "infinity", "-infinity", "+infinity", "inf", "-inf", "+inf":
		return "null", true
	}
	return "", false
}

// word reads a value without quotes: a literal, a number, a wrapper around a value, or text.
func (p *parser) word() {
	if p.prefix() {
		return
	}
	start, limit := p.pos, len(p.src)
	if c := p.src[start]; p.top() == nil && !isDigit(c) && c != '-' {
		// A text that is no more than a literal is short.
		limit = maxAhead
	}
	word := p.ahead.tight(start, limit)
	if p.opts.examine {
		word = scalarBefore(word)
	}
	end := start + len(word)
	if word == "" {
		_, size := runeAt(p.src, start)
		p.junk(size)
		return
	}
	if p.scalar(word, end) {
		return
	}
	if p.strict || p.top() == nil {
		p.failed = true
		return
	}
	if p.wrapper(word, end) {
		return
	}
	end = p.textEnd(end)
	p.pos = end
	if whole, ok := completed(word); ok && end == len(p.src) {
		p.note(Literal, start)
		p.write(whole)
		return
	}
	p.note(BareText, start)
	p.begin()
	p.out = append(p.out, '"')
	p.out = append(appendText(p.out, strings.TrimSpace(p.src[start:end])), '"')
	p.done(true)
}

// scalarBefore cuts a comment off a word if the rest is a literal or a number.
func scalarBefore(word string) string {
	for _, mark := range [...]string{"//", "/*", "#"} {
		if front, _, ok := strings.Cut(word, mark); ok {
			_, isLiteral := literal(front)
			if _, isNumber := number(front); isLiteral || isNumber {
				return front
			}
		}
	}
	return word
}

// scalar writes a literal or a number, unless it is the first word of a text.
func (p *parser) scalar(word string, end int) bool {
	kind := Literal
	plain, ok := literal(word)
	if !ok {
		kind = Number
		if plain, ok = number(word); !ok {
			return false
		}
	}
	if !p.strict && !p.wordEnds(end) {
		return false
	}
	if plain != word {
		p.note(kind, p.pos)
	}
	p.pos = end
	p.write(plain)
	return true
}

// write writes a value that needs no quotes.
func (p *parser) write(plain string) {
	p.begin()
	p.out = append(p.out, plain...)
	p.done(false)
}

// wordEnds reports whether no more words of the same text follow.
func (p *parser) wordEnds(at int) bool {
	next := p.ahead.blanks(at)
	if next >= len(p.src) || p.ahead.broken(at, next) {
		return true
	}
	r, _ := runeAt(p.src, next)
	if !isWord(r) && r != '%' && r != '/' || p.ahead.commentAt(next) {
		return true
	}
	if p.inObject() {
		return p.ahead.keyAt(next)
	}
	return next > at && p.ahead.startsValue(next)
}

// completed returns the JSON literal that begins with a word.
func completed(word string) (string, bool) {
	for _, whole := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(whole, strings.ToLower(word)) {
			return whole, true
		}
	}
	return "", false
}

// wrapper skips a prefix of a value that adds nothing to it: a call, a constructor, a string prefix.
func (p *parser) wrapper(word string, end int) bool {
	if end >= len(p.src) {
		return false
	}
	switch c := p.src[end]; {
	case c == '(':
		r, _ := runeAt(p.src, p.ahead.blanks(end+1))
		if mark := markOf(r); quoteOf(r) == noQuote && mark != '{' && mark != '[' {
			return false
		}
		p.note(Wrapper, p.pos)
		p.pos = end + 1
		return true
	case word == "new" && c == ' ':
		p.note(Wrapper, p.pos)
		p.pos = end
		return true
	}
	return false
}

// prefix skips the letters that some languages put directly before a string: u'text', b"text".
func (p *parser) prefix() bool {
	rest := p.src[p.pos:]
	size := 0
	for size < len(rest) && size < 2 && strings.IndexByte("ubrfUBRF", rest[size]) >= 0 {
		size++
	}
	if size == 0 || size == len(rest) || rest[size] != '"' && rest[size] != '\'' {
		return false
	}
	p.skip(Wrapper, size)
	return true
}

// textEnd returns where a text without quotes ends: at a bracket, the end of the line, a comment, or a comma that can be a
// separator. Its first word ends at the given offset.
func (p *parser) textEnd(at int) int {
	parens := 0
	for at < len(p.src) {
		p.ahead.steps++
		r, size := runeAt(p.src, at)
		mark := markOf(r)
		switch {
		case r == '\n', mark == '}', mark == ']', p.ahead.frameEnds(at), r == utf8.RuneError && size == 1:
			return at
		case mark == '(':
			parens++
		case mark == ')' && parens == 0:
			return at
		case mark == ')':
			parens--
		case mark == ',' && parens == 0 && (!p.inObject() || p.strings.comesNext(at+size, p.top())):
			return at
		case r == '"' && (!p.inObject() || p.ahead.keyAt(at)):
			return at
		case isSpace(r) && at+size < len(p.src) && p.ahead.commentAt(at+size):
			return at
		}
		at += size
	}
	return at
}
