package plan

import "encoding/json"

// Recognised reports whether a JSON value has the shape of a plan in one of the dialects, valid or not. It distinguishes a
// plan from other JSON in a model's text.
func Recognised(raw json.RawMessage) bool {
	switch kindOf(raw) {
	case '[':
		items, ok := cutList(raw)
		if !ok || len(items) == 0 {
			return false
		}
		if kindOf(items[0]) == '"' {
			return true
		}
		o, err := readObject(items[0])
		return err == nil && (o.has("goal") || o.has("title") || o.has("query") || o.has("description"))
	case '{':
		o, err := readObject(raw)
		if err != nil {
			return false
		}
		return o.has("subjobs") || o.has("tasks") || o.has("steps") || looksDecomposed(o)
	}
	return false
}

// Unwrap extracts the content of a message around a plan: an object with "content" (or "plan", "arguments") that is a text, a plan,
// or a list of parts, of which the first with a text counts. ok is false for anything else.
func Unwrap(raw json.RawMessage) (inner json.RawMessage, ok bool) {
	o, err := readObject(raw)
	if err != nil {
		return nil, false
	}
	for _, name := range []string{"content", "plan", "arguments"} {
		inner := o.get(name)
		switch kindOf(inner) {
		case '"':
			return inner, true
		case '{':
			return inner, Recognised(inner)
		case '[':
			if Recognised(inner) {
				return inner, true
			}
			return firstText(inner)
		}
	}
	return nil, false
}

// firstText returns the first text in a list of parts.
func firstText(raw json.RawMessage) (json.RawMessage, bool) {
	items, _ := cutList(raw)
	for _, item := range items {
		part, err := readObject(item)
		if text := part.get("text"); err == nil && kindOf(text) == '"' {
			return text, true
		}
	}
	return nil, false
}
