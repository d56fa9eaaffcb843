package lenient

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxValues limits the values that are kept.
const maxValues = 4096

// scanner finds the places where a value may begin. It reads the text once, and goes back to any place at most once.
type scanner struct {
	opts *Options
	src  string
	pos  int
	p    parser
	// found are the values so far.
	found []Value
	// fence is true inside an open fence, named if the fence announces JSON; tag counts the caller's open tags.
	fence, named bool
	tag          int
	// thinking is true if thinking was opened and never closed, thoughts if it was opened at all.
	thinking, thoughts bool
	// reframed is true if the scanner already went back to a frame inside an unclosed string, inner if that was in prose.
	reframed, inner bool
	// reserve holds values from thinking, used if there are no others.
	reserve []Value
	// tail is where the text continues after the last thinking, framed where the last frame was opened.
	tail, framed int
	// encoded is true if the rest of the text was taken for JSON with escaped quotes.
	encoded bool
	// work is what the searches for repairs have cost so far.
	work int
	// unmended is the doubt about a value that the repairs could not save.
	unmended *Doubt
	// level counts the encodings removed so far.
	level int
}

// all finds the values of one text.
func (s *scanner) all() ([]Value, error) {
	if len(s.src) > s.opts.MaxBytes {
		return nil, ErrTooLarge
	}
	if s.whole() {
		return s.found, nil
	}
	if !s.p.deep {
		s.headless()
	}
	for s.pos < len(s.src) && !s.p.deep {
		s.p.ahead.steps++
		s.look()
	}
	if s.p.deep {
		return nil, ErrTooDeep
	}
	if len(s.found) > 0 || s.scalar() {
		return s.found, nil
	}
	if len(s.reserve) > 0 {
		return s.reserve, nil
	}
	if s.thinking || s.framed > 0 && s.p.ahead.blanks(s.framed) == len(s.src) {
		return nil, ErrTruncated
	}
	return nil, ErrNoJSON
}

// whole accepts the text unchanged if it is plain JSON of any type.
func (s *scanner) whole() bool {
	s.p.reset(0, true)
	s.p.run()
	if s.p.failed || s.p.deep {
		return false
	}
	end := s.p.pos
	s.p.space()
	if s.p.failed || s.p.pos < len(s.src) {
		return false
	}
	s.keep(Value{Start: 0, End: end})
	return true
}

// look handles one element of the text outside values.
func (s *scanner) look() {
	switch c := s.src[s.pos]; {
	case c == '{' || c == '[':
		s.candidate(c, 1)
	case c == '`' || c == '~':
		s.fences()
	case c == '<':
		s.tags()
	case c >= utf8.RuneSelf:
		r, size := runeAt(s.src, s.pos)
		if mark := markOf(r); mark == '{' || mark == '[' {
			s.candidate(mark, size)
			return
		}
		s.pos += size
	default:
		s.pos++
	}
}

// candidate reads a value that may begin here.
func (s *scanner) candidate(mark byte, size int) {
	at := s.p.ahead.blanks(s.pos + size)
	if mark == '{' && at < len(s.src) && isOpener(s.src[at]) {
		s.pos += size
		return
	}
	if s.src[min(at, len(s.src)-1)] == '\\' || mark == '[' && strings.HasPrefix(s.src[at:], `{\`) {
		if s.isEscaped(at) && s.escaped() {
			return
		}
	}
	if !s.plausible(mark, at) {
		s.pos += size
		return
	}
	start := s.pos
	value := s.parse(start, false)
	if s.p.deep {
		return
	}
	if !value.Cut && len(value.Notes) == 0 {
		s.pos = s.closers(start, &value)
		s.keep(value)
		return
	}
	if s.rethink(value) {
		return
	}
	s.pos = s.closers(start, &value)
	s.keep(value)
	if value.Cut {
		s.reframe(&value)
	}
}

// parse reads the value at an offset, first strictly and then with repairs.
func (s *scanner) parse(start int, headless bool) Value {
	p := &s.p
	if !headless {
		p.reset(start, true)
		p.run()
		if p.deep || !p.failed && !s.followed(p.pos) {
			value := s.value(start)
			value.doubt = s.behind(p.pos)
			return value
		}
	}
	if s.opts.examine && !headless {
		if value, ok := s.mend(start); ok {
			return value
		}
	}
	trusted := p.strings.closed
	p.reset(start, false)
	if headless {
		p.headless = true
		p.note(MissingOpener, start)
		p.open[0]++
		p.stack = append(p.stack, frame{mark: '{'})
		p.out = append(p.out, '{')
		p.want = wantKey
	} else {
		p.strings.trusted = trusted
	}
	p.run()
	value := s.value(start)
	if s.opts.examine {
		value.doubt, value.risk = s.unmended, risky(value.Notes)
		s.unmended = nil
	}
	return value
}

// followed reports whether members follow a complete object, which means that it was closed too early.
func (s *scanner) followed(at int) bool {
	at = s.p.ahead.blanks(at)
	return s.p.out[0] == '{' && at < len(s.src) && s.src[at] == ',' && s.p.ahead.quotedKeyAt(s.p.ahead.blanks(at+1))
}

// value returns what the parser has just read.
func (s *scanner) value(start int) Value {
	return Value{Start: start, End: s.p.pos, Cut: s.p.cut, Notes: s.p.notes}
}

// inFrame reports whether an enclosing tag or fence marks this as the answer.
func (s *scanner) inFrame() bool { return s.tag > 0 || s.fence && s.named }

// keep adds a value with the parser's notes and what encloses it.
func (s *scanner) keep(value Value) {
	value.JSON = slices.Clone(s.p.out)
	if s.p.round {
		value.JSON = dense(value.JSON)
	}
	value.tagged, value.fenced = s.tag > 0, s.fence && s.named
	value.thought, value.inner = s.thinking, s.inner
	if s.thinking {
		value.Notes = append(Notes{{Kind: Thought, At: value.Start, Count: 1}}, value.Notes...)
	}
	if len(s.found) >= 2*maxValues {
		s.found = append(s.found[:0], s.found[maxValues:]...)
	}
	s.found = append(s.found, value)
}

// dense removes the blanks that the parser left for round brackets.
func dense(value []byte) []byte {
	out, inside := value[:0], false
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '"':
			inside = !inside
		case c == '\\':
			out = append(out, c)
			i++
			c = value[i]
		case c == ' ' && !inside:
			continue
		}
		out = append(out, c)
	}
	return out
}

// closers skips closing brackets directly after a value and returns where the text continues.
func (s *scanner) closers(start int, value *Value) int {
	pos := max(value.End, start+1)
	for !value.Cut {
		at := s.p.ahead.blanks(pos)
		if at >= len(s.src) || s.src[at] != '}' && s.src[at] != ']' {
			return pos
		}
		value.Notes.add(ExtraCloser, at)
		pos = at + 1
	}
	return pos
}

// scalar reads the whole text, or what follows the thinking, as one string, number or literal.
func (s *scanner) scalar() bool {
	start := s.p.ahead.blanks(s.tail)
	if !s.p.ahead.startsValue(start) {
		return false
	}
	s.p.reset(start, false)
	s.p.run()
	if s.p.failed || s.p.cut || s.p.ahead.blanks(s.p.pos) < len(s.src) {
		return false
	}
	s.thinking = false
	s.keep(s.value(start))
	return true
}
