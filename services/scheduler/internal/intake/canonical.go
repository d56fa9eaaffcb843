package intake

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
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

// entry is one field of an object: its key in quotes and decoded, and the position of its value in the output.
type entry struct {
	key, plain string
	from, to   int
}

func (c *cursor) object() {
	start := len(c.out)
	var entries []entry
	for more := true; more; {
		if c.at++; c.text[c.at] == '}' {
			break
		}
		key := c.string()
		c.at++ // The colon.
		e := entry{key: key, plain: unquote(key), from: len(c.out)}
		c.value()
		e.to = len(c.out)
		entries = append(entries, e)
		more = c.text[c.at] == ','
	}
	c.at++
	c.arrange(start, entries)
}

// arrange sorts the values in the output after start by their keys.
func (c *cursor) arrange(start int, entries []entry) {
	values := string(c.out[start:])
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.plain, b.plain) })
	c.out = append(c.out[:start], '{')
	for i, e := range entries {
		if i+1 < len(entries) && entries[i+1].plain == e.plain {
			continue
		}
		if c.out[len(c.out)-1] != '{' {
			c.out = append(c.out, ',')
		}
		c.out = append(append(append(c.out, e.key...), ':'), values[e.from-start:e.to-start]...)
	}
	c.out = append(c.out, '}')
}

// string reads a text and gives it as json.Marshal writes it.
func (c *cursor) string() string {
	start, plain := c.at, true
	for c.at++; c.text[c.at] != '"'; c.at++ {
		if c.text[c.at] == '\\' {
			plain = false
			c.at++
		}
	}
	c.at++
	quoted := string(c.text[start:c.at])
	if plain && utf8.ValidString(quoted) {
		return quoted // json.Marshal has escaped everything that it escapes.
	}
	again, err := json.Marshal(unquote(quoted))
	if err != nil {
		return quoted
	}
	return string(again)
}

func unquote(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 && utf8.ValidString(quoted) {
		return quoted[1 : len(quoted)-1]
	}
	var text string
	if json.Unmarshal([]byte(quoted), &text) != nil {
		return quoted
	}
	return text
}
