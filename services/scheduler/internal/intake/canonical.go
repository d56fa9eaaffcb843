package intake

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// canonical rewrites valid, compact JSON with the keys of every object in order, the last of equal ones alone, and every
// text in its shortest form. Numbers stay as given.
func canonical(text []byte) []byte {
	c := cursor{text: text, out: make([]byte, 0, len(text))}
	c.value()
	return c.out
}

// cursor is a position in the text, which json.Marshal has written.
type cursor struct {
	text, out []byte
	at        int
}

func (c *cursor) value() {
	switch c.text[c.at] {
	case '{':
		c.object()
	case '[':
		c.list()
	case '"':
		c.out = append(c.out, c.string()...)
	default:
		start := c.at
		for c.at < len(c.text) && bytes.IndexByte([]byte(",]}"), c.text[c.at]) < 0 {
			c.at++
		}
		c.out = append(c.out, c.text[start:c.at]...)
	}
}

func (c *cursor) list() {
	for more := true; more; {
		c.out = append(c.out, c.text[c.at])
		if c.at++; c.text[c.at] != ']' {
			c.value()
		}
		more = c.text[c.at] != ']'
	}
	c.out = append(c.out, ']')
	c.at++
}

// entry is one field of an object: its key, decoded, and its position in the output.
type entry struct {
	key      []byte
	from, to int
}

func (c *cursor) object() {
	start, ordered := len(c.out), true
	entries := make([]entry, 0, 8)
	c.out = append(c.out, '{')
	for more := true; more; {
		if c.at++; c.text[c.at] == '}' {
			break
		}
		key := c.string()
		c.at++ // The colon.
		e := entry{key: unquote(key), from: len(c.out)}
		c.out = append(append(c.out, key...), ':')
		c.value()
		e.to = len(c.out)
		ordered = ordered && (len(entries) == 0 || bytes.Compare(entries[len(entries)-1].key, e.key) < 0)
		entries = append(entries, e)
		if more = c.text[c.at] == ','; more {
			c.out = append(c.out, ',')
		}
	}
	c.at++
	if !ordered {
		c.arrange(start, entries)
	}
	c.out = append(c.out, '}')
}

// arrange sorts the fields in the output after start by their keys.
func (c *cursor) arrange(start int, entries []entry) {
	fields := bytes.Clone(c.out[start:])
	slices.SortStableFunc(entries, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	c.out = append(c.out[:start], '{')
	for i, e := range entries {
		if i+1 < len(entries) && bytes.Equal(entries[i+1].key, e.key) {
			continue
		}
		if c.out[len(c.out)-1] != '{' {
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, fields[e.from-start:e.to-start]...)
	}
}

// string reads a text and returns it as json.Marshal writes it.
func (c *cursor) string() []byte {
	start, plain := c.at, true
	for c.at++; c.text[c.at] != '"'; c.at++ {
		if c.text[c.at] == '\\' {
			plain = false
			c.at++
		}
	}
	c.at++
	quoted := c.text[start:c.at]
	if plain && utf8.Valid(quoted) {
		return quoted // json.Marshal has escaped everything that it escapes.
	}
	again, err := json.Marshal(string(unquote(quoted)))
	if err != nil {
		return quoted
	}
	return again
}

func unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return quoted[1 : len(quoted)-1]
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return quoted
	}
	return []byte(text)
}
