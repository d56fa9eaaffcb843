package lenient

import (
	"errors"
	"strings"
)

// plausible reports whether a bracket begins JSON and not a remark; at is the first visible character after it.
func (s *scanner) plausible(mark byte, at int) bool {
	if at >= len(s.src) {
		return true
	}
	r, size := runeAt(s.src, at)
	inner := markOf(r)
	framed := s.inFrame() || mark == '{' && s.p.ahead.blanks(s.tail) == s.pos
	switch {
	case mark == '{' && inner == '}', mark == '[' && inner == ']', s.p.ahead.commentAt(at) && r != '#':
		return true
	case mark == '{' && quoteOf(r) != noQuote:
		return framed || s.p.ahead.quotedKeyAt(at)
	case mark == '{' && at+1 < len(s.src) && strings.IndexByte("ubUB", s.src[at]) >= 0 && quoteOf(rune(s.src[at+1])) != noQuote:
		return s.p.ahead.quotedKeyAt(at + 1)
	case mark == '{' && s.opts.examine && framed && s.brokenKey(at):
		return true
	case mark == '{':
		return s.p.ahead.keyAt(at) || framed && (s.p.ahead.commentAt(at) || s.p.ahead.dots(at) > 0 || s.spacedKey(at))
	case inner == '{':
		return s.plausible('{', s.p.ahead.blanks(at+size)) || framed
	case framed:
		return true
	}
	return s.p.ahead.startsValue(at) && inner != '('
}

// spacedKey reports whether a key of several words starts at an offset.
func (s *scanner) spacedKey(at int) bool {
	for limit := at + maxAhead; at < len(s.src) && at < limit; at++ {
		s.p.ahead.steps++
		switch c := s.src[at]; {
		case c == ':':
			return true
		case c == '\n' || c == '"' || markOf(rune(c)) != 0:
			return false
		}
	}
	return false
}

// brokenKey reports whether a key with half its quotes, or with marks around it, starts at an offset.
func (s *scanner) brokenKey(at int) bool {
	at += len(s.src[at:]) - len(strings.TrimLeft(s.src[at:], "*"))
	for limit := at + maxAhead; at < len(s.src) && at < limit; {
		s.p.ahead.steps++
		r, size := runeAt(s.src, at)
		switch {
		case r == '"' || r == '*':
			at += size + len(s.src[at+size:]) - len(strings.TrimLeft(s.src[at+size:], `"*`))
			_, width := s.p.ahead.sepAt(s.p.ahead.blanks(at))
			if width > 0 {
				return true
			}
		case !isWord(r) && r != ' ':
			return false
		default:
			at += size
		}
	}
	return false
}

// headless reads an object whose opening brace is missing, at the start of the text or of a frame: models that are given
// the brace as the start of their answer continue after it.
func (s *scanner) headless() {
	at := s.p.ahead.blanks(s.pos)
	if !s.p.ahead.memberAt(at) {
		return
	}
	value := s.parse(at, true)
	if s.p.deep {
		return
	}
	s.pos = s.closers(at, &value)
	s.keep(value)
}

// isEscaped reports whether the quotes after a bracket have a backslash, as inside a string: {\"a\": 1}.
func (s *scanner) isEscaped(at int) bool {
	for limit := at + maxAhead; at+1 < len(s.src) && at < limit; {
		s.p.ahead.steps++
		switch two := s.src[at : at+2]; {
		case two == `\"`:
			return !s.encoded && s.level < maxEncodings
		case two == `\n`, two == `\t`, two == `\r`:
			at += 2
		case two[0] == ' ', two[0] == '{':
			at++
		default:
			return false
		}
	}
	return false
}

// escaped reads the rest of the text, once, as the content of a JSON string without quotes around it. It reports whether
// there was JSON.
func (s *scanner) escaped() bool {
	s.encoded = true
	start := s.pos
	rest := unescaped(s.src[start:])
	s.p.ahead.steps += len(rest)
	sub := scanner{opts: s.opts, src: rest, p: newParser(s.opts, rest), level: s.level + 1}
	found, err := sub.all()
	s.p.ahead.steps += sub.p.ahead.steps
	s.p.deep = errors.Is(err, ErrTooDeep)
	for _, value := range found {
		s.p.out, s.p.round = append(s.p.out[:0], value.JSON...), false
		inner := Value{Start: start, End: len(s.src), Cut: value.Cut, Notes: Notes{{Kind: Encoded, At: start, Count: 1}}}
		inner.inside(&value)
		s.keep(inner)
	}
	if len(found) > 0 {
		s.pos = len(s.src)
	}
	return len(found) > 0
}

// unescaped removes one level of escapes. Unknown escapes stay.
func unescaped(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case '"', '\\', '/':
			out.WriteByte(c)
		case 'n':
			out.WriteByte('\n')
		case 't':
			out.WriteByte('\t')
		case 'r':
			out.WriteByte('\r')
		default:
			out.WriteByte('\\')
			out.WriteByte(c)
		}
	}
	return out.String()
}
