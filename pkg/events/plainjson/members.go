package plainjson

import (
	"encoding/json"
	"sync"
)

// Members finds the members of a JSON object by name. The object is read when the first one is asked for; one that cannot be read has none.
func Members(object []byte) func(name string) (value []byte, ok bool) {
	byName := sync.OnceValue(func() (all map[string]json.RawMessage) {
		_ = json.Unmarshal(object, &all)
		return all
	})
	return func(name string) ([]byte, bool) {
		value, ok := byName()[name]
		return value, ok
	}
}
