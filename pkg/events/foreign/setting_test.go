package foreign

import (
	"encoding/json"
	"testing"
)

// proves F17
func TestSettingsOfPredecessorsAskForNothingOrSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		field, value string
		idle, known  bool
	}{
		{"mcp_settings", `{"servers":{}}`, true, true},
		{"mcp_settings", `{}`, true, true},
		{"mcp_settings", `null`, true, true},
		{"mcp_settings", `{"servers":{"x":{"command":"sh"}}}`, false, true},
		{"mcp_settings", `[1]`, false, true},
		{"enable_web_search", `true`, true, true},
		{"enable_web_search", `false`, false, true},
		{"max_search_results", `3`, false, true},
		{"enable_deep_thinking", `false`, true, true},
		{"colour", `null`, false, false},
	} {
		hint, idle, known := Setting(c.field, json.RawMessage(c.value))
		if idle != c.idle || known != c.known || known != (hint != "") {
			t.Errorf("%s %s: %v %v %q", c.field, c.value, idle, known, hint)
		}
	}
}
