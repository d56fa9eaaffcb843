package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

const openTag, closeTag = "<decomposition>", "</decomposition>"

// locate finds the plan in a text: the text itself, the first <decomposition> block at the start of a line, the first
// fenced block, or the first JSON value in the prose. It returns one valid JSON value.
func (d *draft) locate(text []byte) (json.RawMessage, bool) {
	text = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(text), []byte("\ufeff")))
	if len(text) == 0 {
		d.faults.add(events.CodeMissing, "", "the plan is empty", emptyHint)
		return nil, false
	}
	if d.version >= 1 && d.rules == nil && text[0] != '"' { // A quoted text is unquoted first; the texts of models were read elsewhere.
		text = payloads(text)
	}
	if json.Valid(text) {
		return text, true
	}
	part := excerpt(string(text))
	if part == "" {
		d.faults.add(events.CodeMalformed, "", "no JSON in the text: "+fmt.Sprintf("%.80q", text), emptyHint)
		return nil, false
	}
	raw, err := first([]byte(part))
	if err == nil {
		return raw, true
	}
	if relaxed, again := first(relax([]byte(part))); again == nil {
		d.warnings.add(events.CodeMalformed, "", "is not strict JSON; comments, trailing commas or quotes were read leniently", "write strict JSON")
		return relaxed, true
	}
	d.faults.put(events.Fault{
		Code: events.CodeMalformed, Message: "the plan is not valid JSON", Cause: err.Error(), Hint: "check quotes, commas and brackets there",
	})
	return nil, false
}

// excerpt returns the part of a text that should be JSON, or "".
func excerpt(text string) string {
	if start := tagged(text); start >= 0 {
		body, _, _ := strings.Cut(text[start:], closeTag)
		return fromBracket(body)
	}
	if text[0] == '{' || text[0] == '[' {
		return text
	}
	if _, behind, ok := strings.Cut(text, "```"); ok {
		body, _, _ := strings.Cut(behind, "```")
		if part := fromBracket(body); part != "" {
			return part
		}
	}
	return fromBracket(text)
}

// tagged returns where the first block begins whose tag starts a line, or -1.
func tagged(text string) int {
	for at := 0; ; {
		i := strings.Index(text[at:], openTag)
		if i < 0 {
			return -1
		}
		start := at + i
		line := text[strings.LastIndexByte(text[:start], '\n')+1 : start]
		at = start + len(openTag)
		if strings.TrimSpace(line) == "" {
			return at
		}
	}
}

// fromBracket drops the text before the first object, or before the first list if there is no object.
func fromBracket(text string) string {
	if i := strings.IndexByte(text, '{'); i >= 0 {
		if j := strings.IndexByte(text, '['); j >= 0 && j < i && strings.TrimSpace(text[j+1:i]) == "" {
			return text[j:]
		}
		return text[i:]
	}
	if i := strings.IndexByte(text, '['); i >= 0 {
		return text[i:]
	}
	return ""
}

// first reads one JSON value and ignores prose after it. The error gives line and column.
func first(text []byte) (json.RawMessage, error) {
	var raw json.RawMessage
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&raw)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		before := text[:min(max(syntax.Offset-1, 0), int64(len(text)))]
		line := bytes.Count(before, []byte("\n")) + 1
		column := len(before) - bytes.LastIndexByte(before, '\n')
		return nil, fmt.Errorf("line %d column %d: %w", line, column, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the text ends inside the JSON: %w", err)
	}
	return raw, nil
}

// relax turns what people and models write into strict JSON: it removes comments outside of strings and commas before a
// closing bracket, puts keys in double quotes, and escapes line breaks and control characters in strings. It reads each
// byte once. Other errors stay in the text.
func relax(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\'' && opensKey(out):
			out, i = quoted(out, text, i)
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			if end := bytes.IndexByte(text[i:], '\n'); end >= 0 {
				i += end
			} else {
				i = len(text)
			}
		case c == '}' || c == ']':
			out = append(trimComma(out), c)
			i++
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// opensKey reports whether a key may begin here: after an opening brace or a comma.
func opensKey(out []byte) bool {
	out = bytes.TrimRight(out, " \t\r\n")
	return len(out) > 0 && (out[len(out)-1] == '{' || out[len(out)-1] == ',')
}

func trimComma(out []byte) []byte {
	bare := bytes.TrimRight(out, " \t\r\n")
	if n := len(bare); n > 0 && bare[n-1] == ',' {
		return bare[:n-1]
	}
	return out
}

// quoted copies one string in either kind of quotes and returns where the text continues.
func quoted(out, text []byte, at int) ([]byte, int) {
	quote := text[at]
	out = append(out, '"')
	for i := at + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			if text[i] != '\'' {
				out = append(out, '\\')
			}
			out = append(out, text[i])
		case c == quote:
			return append(out, '"'), i + 1
		case c == '"':
			out = append(out, '\\', '"')
		case c < ' ':
			out = fmt.Appendf(out, "\\u%04x", c)
		default:
			out = append(out, c)
		}
	}
	return out, len(text)
}
