package plan

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// cutter splits valid JSON into its parts without copying. On invalid JSON it stops somewhere, and the parts that it
// returns are invalid too.
type cutter struct {
	text []byte
	at   int
}

// next skips blanks and consumes b if it comes next.
func (c *cutter) next(b byte) bool {
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case ' ', '\t', '\n', '\r':
			c.at++
		case b:
			c.at++
			return true
		default:
			return false
		}
	}
	return false
}

// key reads a string.
func (c *cutter) key() (string, bool) {
	raw := c.value()
	if text, ok := plainBytes(raw); ok {
		if name, ok := fieldNames[string(text)]; ok {
			return name, true
		}
		return string(text), true
	}
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return escaped(raw)
}

// fieldNames avoids copying the names that occur in every step of a plan.
var fieldNames = map[string]string{
	"id": "id", "goal": "goal", "context": "context", "completion_criteria": "completion_criteria", "dependencies": "dependencies",
	"expert": "expert", "assigned_expert": "assigned_expert", "title": "title", "thinking": "thinking", "tag": "tag", "type": "type",
	"description": "description", "query": "query",
}

// escaped decodes a string with escapes.
func escaped(raw json.RawMessage) (text string, ok bool) {
	err := json.Unmarshal(raw, &text)
	return text, err == nil
}

// value returns the next value, or nothing at the end.
func (c *cutter) value() json.RawMessage {
	for c.at < len(c.text) && bytes.IndexByte(betweenTokens, c.text[c.at]) >= 0 {
		c.at++
	}
	start, depth := c.at, 0
	for c.at < len(c.text) {
		switch b := c.text[c.at]; {
		case b == '"':
			c.pass()
		case b == '{' || b == '[':
			depth++
			c.at++
		case depth > 0:
			if b == '}' || b == ']' {
				depth--
			}
			c.at++
		case bytes.IndexByte(afterScalar, b) >= 0:
			return c.text[start:c.at:c.at]
		default: // A number or a word.
			c.at++
			continue
		}
		if depth == 0 {
			break
		}
	}
	return c.text[start:c.at:c.at]
}

var (
	betweenTokens = []byte(" \t\r\n")
	afterScalar   = []byte(" \t\r\n,:}]")
)

// pass skips the string that begins here.
func (c *cutter) pass() {
	for c.at++; c.at < len(c.text); c.at++ {
		switch c.text[c.at] {
		case '\\':
			c.at++
		case '"':
			c.at++
			return
		}
	}
	c.at = len(c.text)
}

// cutList returns the items of a list.
func cutList(raw json.RawMessage) (items []json.RawMessage, ok bool) {
	c := cutter{text: raw}
	if !c.next('[') {
		return nil, false
	}
	items = make([]json.RawMessage, 0, 1+len(raw)/128)
	for first := true; !c.next(']'); first = false {
		if !first && !c.next(',') {
			return nil, false
		}
		item := c.value()
		if len(item) == 0 {
			return nil, false
		}
		items = append(items, item)
	}
	return items, true
}

// plainText returns a string without escapes that is valid UTF-8.
func plainText(raw json.RawMessage) (string, bool) {
	text, ok := plainBytes(raw)
	return string(text), ok
}

func plainBytes(raw json.RawMessage) ([]byte, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return nil, false
	}
	text := raw[1 : len(raw)-1]
	ascii := true
	for _, b := range text {
		if b == '"' || b == '\\' || b < ' ' {
			return nil, false
		}
		ascii = ascii && b < utf8.RuneSelf
	}
	return text, ascii || utf8.Valid(text)
}
