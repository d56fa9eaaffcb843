package redact

import (
	"bytes"
	"encoding/json"
)

// JSON returns a JSON text without secrets; the text itself if it has none. Valid JSON stays valid: a number that contains
// a secret becomes a string. Anything but JSON is handled as by Text.
func (r *Redactor) JSON(raw []byte) []byte {
	m := r.matcher()
	if m == nil {
		return raw
	}
	if _, size := find(m, raw, 0); size == 0 && !unusual(raw) {
		return raw
	}
	if !json.Valid(raw) {
		if !r.Holds(raw) {
			return raw
		}
		return []byte(r.Text(string(raw)))
	}
	return r.tokens(raw)
}

// unusual reports whether a text has escapes that the forms of a secret do not cover.
func unusual(raw []byte) bool {
	return bytes.Contains(raw, []byte(`\u`)) || bytes.Contains(raw, []byte(`\/`))
}

// tokens redacts valid JSON token by token.
func (r *Redactor) tokens(raw []byte) []byte {
	var out []byte // nil as long as nothing was removed.
	from := 0
	for i := 0; i < len(raw); {
		end := tokenEnd(raw, i)
		if clean, changed := r.token(raw[i:end]); changed {
			out = append(append(out, raw[from:i]...), clean...)
			from = end
		}
		i = end
	}
	if out == nil {
		return raw
	}
	return append(out, raw[from:]...)
}

// tokenEnd returns the end of the string or number that begins at i, or i+1 for any other byte.
func tokenEnd(raw []byte, i int) int {
	switch c := raw[i]; {
	case c == '"':
		for i++; raw[i] != '"'; i++ {
			if raw[i] == '\\' {
				i++
			}
		}
		return i + 1
	case inNumber(c):
		for i < len(raw) && inNumber(raw[i]) {
			i++
		}
		return i
	}
	return i + 1
}

func inNumber(c byte) bool { return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' }

func (r *Redactor) token(token []byte) (clean []byte, changed bool) {
	if len(token) < 2 {
		return token, false
	}
	if token[0] != '"' {
		return []byte(`"` + Mask + `"`), r.Holds(token)
	}
	text := string(token[1 : len(token)-1])
	if bytes.IndexByte(token, '\\') >= 0 && json.Unmarshal(token, &text) != nil {
		return token, false // The token was valid, so this does not happen.
	}
	shown := r.Text(text)
	if shown == text {
		return token, false
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(shown) != nil {
		return token, false // A string can always be encoded.
	}
	return bytes.TrimSuffix(quoted.Bytes(), []byte("\n")), true
}
