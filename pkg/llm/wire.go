package llm

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The types below read what providers really send and write what the SDK can read.

// loose is text that some providers send as a list of parts or as an object. It is written as a string.
type loose string

// simple returns the content of a JSON string without escapes, as nearly all are: decoding these is most of the cost of a
// stream.
func simple(data []byte) (text string, ok bool) {
	last := len(data) - 1
	if last < 1 || data[0] != '"' || bytes.IndexByte(data, '\\') >= 0 || !utf8.Valid(data) {
		return "", false
	}
	return string(data[1:last]), true
}

// quoted returns the content of a JSON string.
func quoted(data []byte) (text string, ok bool) {
	if text, ok = simple(data); ok {
		return text, true
	}
	return text, len(data) > 0 && data[0] == '"' && json.Unmarshal(data, &text) == nil
}

// content is the content of a message: a text, or raw JSON still to be parsed.
type content struct {
	text string
	raw  json.RawMessage
}

// UnmarshalJSON accepts any value. Anything but a string is parsed later.
func (c *content) UnmarshalJSON(data []byte) error {
	var ok bool
	c.raw = nil // If a field occurs twice, the last one counts.
	if c.text, ok = quoted(data); !ok {
		c.raw = bytes.Clone(data)
	}
	return nil
}

// MarshalJSON returns the text.
func (c *content) MarshalJSON() ([]byte, error) { return json.Marshal(c.text) }

// plain converts raw content to text.
func (c *content) plain() {
	var text loose
	_ = text.UnmarshalJSON(c.raw) // It accepts anything.
	c.text, c.raw = string(text), nil
}

func (c *content) said() string {
	if c == nil {
		return ""
	}
	return c.text
}

// UnmarshalJSON accepts a string, null, a list, or an object that contains text.
func (l *loose) UnmarshalJSON(data []byte) error {
	if text, ok := simple(data); ok {
		*l = loose(text)
		return nil
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		*l = loose(text)
		return nil
	}
	var all strings.Builder
	for _, part := range looseParts(data) {
		if part.Type != "thinking" && part.Type != "reasoning" {
			all.WriteString(string(part.said()))
		}
	}
	*l = loose(all.String())
	return nil
}

// loosePart is one part of a content that is a list.
type loosePart struct {
	Type     string `json:"type"`
	Text     loose  `json:"text"`
	Content  loose  `json:"content"`
	Thinking loose  `json:"thinking"`
	Refusal  loose  `json:"refusal"`
}

func (p loosePart) said() loose { return p.Text + p.Content }

// looseParts parses a list of parts, each an object or a bare string, or one such object. Anything else yields no parts.
func looseParts(data []byte) []loosePart {
	if depth(data) > maxDepth {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		list = []json.RawMessage{data}
	}
	parts := make([]loosePart, 0, len(list))
	for _, item := range list {
		var part loosePart
		var text string
		if json.Unmarshal(item, &text) == nil {
			part.Text = loose(text)
		} else if json.Unmarshal(item, &part) != nil {
			continue
		}
		parts = append(parts, part)
	}
	return parts
}

// maxDepth limits the nesting of a content, since each level is decoded again.
const maxDepth = 16

// depth returns the maximum number of brackets that are open at once, ignoring strings.
func depth(data []byte) int {
	open, deepest, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			open++
			deepest = max(deepest, open)
		case c == '}' || c == ']':
			open--
		}
	}
	return deepest
}

// arguments are the arguments of a call: a string of JSON or, from some providers, the object itself.
type arguments string

// UnmarshalJSON accepts a string, null, or any other value, which it keeps in compact form.
func (a *arguments) UnmarshalJSON(data []byte) error {
	if text, ok := simple(data); ok {
		*a = arguments(text)
		return nil
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		*a = arguments(text)
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return err
	}
	*a = arguments(compact.String())
	return nil
}

// word is an identifier that some providers send as a number.
type word string

// UnmarshalJSON accepts a string or a number; anything else counts as absent.
func (w *word) UnmarshalJSON(data []byte) error {
	if text, ok := simple(data); ok {
		*w = word(text)
		return nil
	}
	var text string
	var number json.Number
	switch {
	case json.Unmarshal(data, &text) == nil:
		*w = word(text)
	case json.Unmarshal(data, &number) == nil:
		*w = word(number.String())
	}
	return nil
}

// count is a number of tokens. Null, a fraction or nonsense does not make an answer unreadable.
type count int

// UnmarshalJSON accepts any number from 0 to a thousand million; anything else counts as 0.
func (c *count) UnmarshalJSON(data []byte) error {
	if n, err := strconv.ParseUint(string(data), 10, 64); err == nil && n <= 1e9 { // The usual form, in every chunk of some streams.
		*c = count(n)
		return nil
	}
	var n float64
	if json.Unmarshal(data, &n) == nil && n >= 0 && n <= 1e9 {
		*c = count(n)
	}
	return nil
}

// money is an amount in US dollars, nil if absent or invalid.
type money struct{ usd *float64 }

// UnmarshalJSON accepts a number that is not negative, even in a string.
func (m *money) UnmarshalJSON(data []byte) error {
	var n float64
	if json.Unmarshal(bytes.Trim(data, `"`), &n) == nil && n >= 0 && string(data) != "null" {
		m.usd = &n
	}
	return nil
}
