package plan

import "encoding/json"

// Recognised reports whether a JSON value looks like a plan in one of the dialects, whatever is wrong with it. It is what
// tells a plan from other JSON in a model's text.
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
