package events

import (
	_ "embed"
	"encoding/json"
	"sync"
)

//go:embed schemas.json
var schemas []byte

// Schema returns the JSON Schema (2020-12) of a kind's payload, of "request", "plan", "work", "card", "journal" or "fault".
var Schema = SchemasIn(schemas)

// SchemasIn finds schemas by name in a JSON object of them, which is read when the first one is asked for. An object that cannot be read
// has none.
func SchemasIn(object []byte) func(name string) (text []byte, ok bool) {
	byName := sync.OnceValue(func() (all map[string]json.RawMessage) {
		_ = json.Unmarshal(object, &all)
		return all
	})
	return func(name string) ([]byte, bool) {
		text, ok := byName()[name]
		return text, ok
	}
}
