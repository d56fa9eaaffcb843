package foreign

import "encoding/json"

// setting is one field of a predecessor's request.
type setting struct {
	hint string
	// idle reports whether a value asks for nothing.
	idle func(value json.RawMessage) bool
}

var settings = map[string]setting{
	"mcp_settings": {
		"servers of tools are those that the operator allows: mcpServers of jobgraph.yaml, named under tools on the card of an expert",
		func(value json.RawMessage) bool {
			var s struct {
				Servers map[string]json.RawMessage `json:"servers"`
			}
			return json.Unmarshal(value, &s) == nil && len(s.Servers) == 0
		},
	},
	"enable_web_search": {"experts search as their cards say: name one without the skill web_search, or a plan without such steps", is("true")},
	"max_search_results": {
		"the tools of an expert's card have limits of their own; say in the goal how many sources are wanted", is("0"),
	},
	"enable_deep_thinking": {`"models": {"planner": "NAME"} plans with a configured model that reasons`, is("false")},
}

// is returns a function that reports whether a value is null or a given word.
func is(word string) func(json.RawMessage) bool {
	return func(value json.RawMessage) bool { return string(value) == "null" || string(value) == word }
}

// Setting returns what to do instead of giving a field with a request; known is false for any other field. idle is true if the
// value asks for nothing, and may be left out.
func Setting(field string, value json.RawMessage) (hint string, idle, known bool) {
	s, known := settings[field]
	if !known {
		return "", false, false
	}
	return s.hint, s.idle(value), true
}
