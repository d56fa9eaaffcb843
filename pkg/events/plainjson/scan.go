package plainjson

import (
	"bytes"
	"encoding/json"
	"math"
	"time"
	"unicode/utf8"
)

// Scanner reads a JSON text from front to back. Every method reports whether it succeeded; once one has failed, the text
// must be decoded by encoding/json from the beginning.
type Scanner struct {
	text []byte
	at   int
}

// NewScanner returns a scanner at the beginning of a text.
func NewScanner(text []byte) *Scanner { return &Scanner{text: text} }

// End reports whether nothing but blanks is left.
func (s *Scanner) End() bool {
	s.blanks()
	return s.at == len(s.text)
}

// Count returns how often a text occurs in the rest, to allocate a list before it is read.
func (s *Scanner) Count(text string) int { return bytes.Count(s.text[s.at:], []byte(text)) }

// Object reads an object; field is called with each key and has to read its value. The key is valid only during the call.
func (s *Scanner) Object(field func(key []byte) bool) bool {
	if !s.is('{') {
		return false
	}
	for more := !s.is('}'); more; more = !s.is('}') {
		key, ok := s.plain()
		if !ok || !s.is(':') || !field(key) {
			return false
		}
		if s.is(',') {
			if s.peek() == '}' {
				return false
			}
		} else if s.peek() != '}' {
			return false
		}
	}
	return true
}

// Text reads a string.
func (s *Scanner) Text(into *string) bool {
	start := s.at
	if text, ok := s.plain(); ok {
		*into = string(text)
		return true
	}
	s.at = start
	return s.Value(into)
}

// List reads a list; item is called for each value and has to read it.
func (s *Scanner) List(item func() bool) bool {
	if !s.is('[') {
		return false
	}
	for more := !s.is(']'); more; more = !s.is(']') {
		if !item() {
			return false
		}
		if s.is(',') {
			if s.peek() == ']' {
				return false
			}
		} else if s.peek() != ']' {
			return false
		}
	}
	return true
}

// Texts reads a list of strings.
func (s *Scanner) Texts(into *[]string) bool {
	list := []string{}
	ok := s.List(func() bool {
		list = append(list, "")
		return s.Text(&list[len(list)-1])
	})
	*into = list
	return ok
}

// Int reads an integer of up to 18 digits.
func (s *Scanner) Int(into *int) bool {
	var n int64
	if !s.Int64(&n) || n > math.MaxInt || n < math.MinInt {
		return false
	}
	*into = int(n)
	return true
}

// Int64 reads an integer of up to 18 digits.
func (s *Scanner) Int64(into *int64) bool {
	negative := s.is('-')
	s.blanks()
	start, n := s.at, int64(0)
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		n = n*10 + int64(s.text[s.at]-'0')
		s.at++
	}
	digits := s.at - start
	if digits == 0 || digits > 18 || digits > 1 && s.text[start] == '0' || negative && s.text[start-1] != '-' {
		return false
	}
	if s.at < len(s.text) && bytes.IndexByte([]byte(".eE"), s.text[s.at]) >= 0 {
		return false
	}
	if negative {
		n = -n
	}
	*into = n
	return true
}

// Uint64 reads a non-negative integer of up to 18 digits.
func (s *Scanner) Uint64(into *uint64) bool {
	var n int64
	if s.peek() == '-' || !s.Int64(&n) {
		return false
	}
	*into = uint64(n)
	return true
}

// Bool reads true or false.
func (s *Scanner) Bool(into *bool) bool {
	s.blanks()
	rest := s.text[s.at:]
	switch {
	case bytes.HasPrefix(rest, []byte("true")):
		*into = true
		s.at += len("true")
	case bytes.HasPrefix(rest, []byte("false")):
		*into = false
		s.at += len("false")
	default:
		return false
	}
	return true
}

// Time reads a time as encoding/json does, without reflection.
func (s *Scanner) Time(into *time.Time) bool {
	value, ok := s.skip()
	return ok && value[0] == '"' && into.UnmarshalJSON(value) == nil
}

// Raw reads any value without decoding it.
func (s *Scanner) Raw(into *json.RawMessage) bool {
	s.blanks()
	start := s.at
	if s.exact(0) && (s.at == len(s.text) || bytes.IndexByte([]byte(",]} \t\r\n"), s.text[s.at]) >= 0) {
		*into = append((*into)[:0], s.text[start:s.at]...)
		return true
	}
	s.at = start
	value, ok := s.skip()
	if !ok || !json.Valid(value) {
		return false
	}
	*into = append((*into)[:0], value...)
	return true
}

// Value reads any value except null with encoding/json.
func (s *Scanner) Value(into any) bool {
	value, ok := s.skip()
	return ok && value[0] != 'n' && json.Unmarshal(value, into) == nil
}

// skip skips a value and returns it. It matches brackets outside of strings and checks nothing else.
func (s *Scanner) skip() ([]byte, bool) {
	s.blanks()
	start, depth := s.at, 0
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '"':
			if !s.pass() {
				return nil, false
			}
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			if depth == 0 {
				return bytes.TrimRight(s.text[start:s.at], " \t\r\n"), s.at > start
			}
			depth--
			s.at++
		case ',':
			if depth == 0 {
				return bytes.TrimRight(s.text[start:s.at], " \t\r\n"), s.at > start
			}
			s.at++
		default:
			s.at++
			continue
		}
		if depth == 0 {
			return s.text[start:s.at], true
		}
	}
	return bytes.TrimRight(s.text[start:], " \t\r\n"), depth == 0 && s.at > start
}

// pass skips the string that begins here.
func (s *Scanner) pass() bool {
	for i := s.at + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			i++
		case '"':
			s.at = i + 1
			return true
		}
	}
	return false
}

// plain reads a string without escapes.
func (s *Scanner) plain() ([]byte, bool) {
	if !s.is('"') {
		return nil, false
	}
	ascii := true
	for i := s.at; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"':
			text := s.text[s.at:i]
			s.at = i + 1
			return text, ascii || utf8.Valid(text)
		case c == '\\' || c < ' ':
			return nil, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false
}

// is skips the byte c if it comes next.
func (s *Scanner) is(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// peek returns the next byte that is not blank, 0 at the end.
func (s *Scanner) peek() byte {
	s.blanks()
	if s.at == len(s.text) {
		return 0
	}
	return s.text[s.at]
}

func (s *Scanner) blanks() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// Plain reports whether a text is JSON exactly as json.Marshal writes it, without escapes in its strings and with whole numbers
// alone. Texts that are valid otherwise are not plain: use encoding/json for them.
func Plain(text []byte) bool {
	s := Scanner{text: text}
	return s.exact(0) && s.at == len(text)
}

// deepest is the depth up to which Plain looks.
const deepest = 64

// exact passes a value that is plain.
func (s *Scanner) exact(depth int) bool {
	if s.at == len(s.text) || depth > deepest {
		return false
	}
	switch c := s.text[s.at]; {
	case c == '"':
		return s.exactText()
	case c == '{', c == '[':
		return s.exactList(c == '{', depth)
	case c >= '0' && c <= '9':
		start := s.at
		for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
			s.at++
		}
		return c != '0' || s.at == start+1
	}
	for _, word := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(s.text[s.at:], []byte(word)) {
			s.at += len(word)
			return true
		}
	}
	return false
}

// exactList passes the object or array that begins here.
func (s *Scanner) exactList(object bool, depth int) bool {
	end := byte(']')
	if object {
		end = '}'
	}
	s.at++
	if s.at < len(s.text) && s.text[s.at] == end {
		s.at++
		return true
	}
	for s.at < len(s.text) {
		if object && !s.exactKey() || !s.exact(depth+1) || s.at == len(s.text) {
			return false
		}
		s.at++
		switch s.text[s.at-1] {
		case end:
			return true
		case ',':
		default:
			return false
		}
	}
	return false
}

// exactKey passes the name of a field and its colon.
func (s *Scanner) exactKey() bool {
	if !s.exactText() || s.at == len(s.text) || s.text[s.at] != ':' {
		return false
	}
	s.at++
	return true
}

// exactText passes a string that json.Marshal would write without escapes.
func (s *Scanner) exactText() bool {
	if s.at == len(s.text) || s.text[s.at] != '"' {
		return false
	}
	ascii := true
	for i, c := range s.text[s.at+1:] {
		switch {
		case c >= utf8.RuneSelf:
			ascii = false
		case c == '"':
			text := s.text[s.at+1 : s.at+1+i]
			s.at += i + 2
			return ascii || unescaped(text)
		case escapes(c):
			return false
		}
	}
	return false
}

// escapes reports whether json.Marshal writes an ASCII character as an escape.
func escapes(c byte) bool {
	const low = 1<<' ' - 1 | 1<<'"' | 1<<'&' | 1<<'<' | 1<<'>'
	return c == '\\' || c < 64 && low>>c&1 == 1
}

// unescaped reports whether json.Marshal writes the characters of a text that are not ASCII as they are.
func unescaped(text []byte) bool {
	return utf8.Valid(text) && !bytes.Contains(text, []byte("\u2028")) && !bytes.Contains(text, []byte("\u2029"))
}
