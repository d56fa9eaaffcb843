package lenient

import (
	"encoding/json"
	"slices"
	"strings"
)

// settler walks through a valid value and lets the shape decide what JSON leaves open: repeated keys of an object, booleans and
// numbers written as text, and JSON inside a string.
type settler struct {
	src string
	out []byte
	// pos is the offset of the next token.
	pos int
	// changed is true if the shape decided anything; twice if a key has two values and the shape prefers neither.
	changed, twice bool
}

// settle returns the value as the shape describes it. twice is true if an object has a key with two different values and the shape
// does not say which one is intended.
func settle(value json.RawMessage, shape *Shape) (settled json.RawMessage, changed, twice bool) {
	s := settler{src: string(value)}
	s.value(shape)
	if !s.changed {
		return value, false, s.twice
	}
	return s.out, true, s.twice
}

// value copies one value.
func (s *settler) value(shape *Shape) {
	switch s.src[s.pos] {
	case '{':
		s.object(shape)
	case '[':
		s.array(shape)
	case '"':
		end := quoteFrom(s.src, s.pos+1) + 1
		s.text(s.src[s.pos:end], shape)
		s.pos = end
	default:
		end := s.pos
		for end < len(s.src) && strings.IndexByte(",]}", s.src[end]) < 0 {
			end++
		}
		s.out = append(s.out, s.src[s.pos:end]...)
		s.pos = end
	}
}

func (s *settler) array(shape *Shape) {
	s.out = append(s.out, '[')
	s.pos++
	for s.src[s.pos] != ']' {
		if s.src[s.pos] == ',' {
			s.out = append(s.out, ',')
			s.pos++
		}
		s.value(shape.element())
	}
	s.out = append(s.out, ']')
	s.pos++
}

// pair is a member of an object in the output.
type pair struct {
	// name is the key as written; the others are the offsets of the member, of its value and of its end.
	name           string
	at, value, end int
	shape          *Shape
}

// maxPairs is the number of members up to which a repeated key is searched linearly; beyond it a map is used.
const maxPairs = 16

func (s *settler) object(shape *Shape) {
	s.out = append(s.out, '{')
	s.pos++
	var pairs []pair
	var index map[string]int
	first := len(s.out)
	for s.src[s.pos] != '}' {
		if s.src[s.pos] == ',' {
			s.pos++
		}
		if len(s.out) > first {
			s.out = append(s.out, ',')
		}
		end := quoteFrom(s.src, s.pos+1) + 1
		name := s.src[s.pos:end]
		p := pair{name: name, at: len(s.out)}
		p.shape, _ = shape.member(unquoted(name))
		s.out = append(append(s.out, name...), ':')
		s.pos = end + 1
		p.value = len(s.out)
		s.value(p.shape)
		p.end = len(s.out)
		if len(pairs) == maxPairs {
			index = make(map[string]int, 4*maxPairs)
			for i := range pairs {
				index[pairs[i].name] = i
			}
		}
		pairs = s.insert(pairs, index, p, shape != nil)
	}
	s.out = append(s.out, '}')
	s.pos++
}

// insert adds a member, or decides between it and an earlier one with the same name.
func (s *settler) insert(pairs []pair, index map[string]int, p pair, known bool) []pair {
	i := -1
	if index != nil {
		if at, ok := index[p.name]; ok {
			i = at
		}
	} else {
		i = slices.IndexFunc(pairs, func(old pair) bool { return old.name == p.name })
	}
	if i < 0 {
		if index != nil {
			index[p.name] = len(pairs)
		}
		return append(pairs, p)
	}
	old := pairs[i]
	before, after := string(s.out[old.value:old.end]), string(s.out[p.value:p.end])
	switch {
	case before == after && !known:
	case before == after || !fitting(after, p.shape) && fitting(before, p.shape):
		s.out = s.out[:max(0, p.at-1)]
		s.changed = true
	case fitting(after, p.shape) && !fitting(before, p.shape):
		s.replace(pairs, i, p)
	default:
		s.twice = true
	}
	return pairs
}

// replace replaces the value of an earlier member by that of a later one.
func (s *settler) replace(pairs []pair, i int, p pair) {
	value := slices.Clone(s.out[p.value:p.end])
	s.out = s.out[:p.at-1]
	s.out = slices.Replace(s.out, pairs[i].value, pairs[i].end, value...)
	moved := len(value) - (pairs[i].end - pairs[i].value)
	pairs[i].end += moved
	for j := i + 1; j < len(pairs); j++ {
		pairs[j].at, pairs[j].value, pairs[j].end = pairs[j].at+moved, pairs[j].value+moved, pairs[j].end+moved
	}
	s.changed = true
}

// fitting reports whether the shape accepts the type of a value and, for an object, its members.
func fitting(value string, shape *Shape) bool {
	if shape == nil {
		return true
	}
	a := newAutomaton(new(Options{}.filled()), value, 0, shape)
	a.run()
	return a.stop == finished && a.misfit == 0
}

// text copies a string, or the value inside it if the shape does not want a string.
func (s *settler) text(quoted string, shape *Shape) {
	inner := unquoted(quoted)
	if shape.allows(kindString) || !s.typed(inner, shape) {
		s.out = append(s.out, quoted...)
	}
}

// typed writes the value inside a string if the shape wants a value of its type.
func (s *settler) typed(inner string, shape *Shape) bool {
	word := strings.TrimSpace(inner)
	if word == "" || !json.Valid([]byte(word)) {
		lower := strings.ToLower(word)
		if lower != "true" && lower != "false" || !shape.allows(kindBoolean) {
			return false
		}
		word = lower
	}
	var compact []byte
	switch c := word[0]; {
	case c == '{' && shape.allows(kindObject), c == '[' && shape.allows(kindArray):
		raw, _, err := Read(word, Options{})
		if err != nil {
			return false
		}
		compact = raw
	case (c == 't' || c == 'f') && shape.allows(kindBoolean), c == '-' && shape.allows(kindNumber), isDigit(c) && shape.allows(kindNumber):
		compact = []byte(word)
	default:
		return false
	}
	s.out = append(s.out, compact...)
	s.changed = true
	return true
}

// unquoted returns the content of a JSON string.
func unquoted(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1]
	}
	var inner string
	if json.Unmarshal([]byte(text), &inner) != nil {
		return text[1 : len(text)-1]
	}
	return inner
}
