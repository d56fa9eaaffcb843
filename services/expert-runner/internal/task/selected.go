package task

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/graph"
)

// Selected picks dotted paths out of an output: keys of objects, indexes of lists; the empty path is the whole. For a value of more
// than maxSelected bytes it returns only what conditions compare. A path that does not exist is omitted.
func Selected(output json.RawMessage, paths []string) map[string]json.RawMessage {
	found := map[string]json.RawMessage{}
	room := maxAllSelected
	for _, path := range paths {
		value, ok := At(output, path)
		if len(value) > min(maxSelected, room) {
			value = graph.Compared(value)
		}
		if ok && len(value) <= room {
			found[path] = value
			room -= len(value)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// Maximum size of a value that a report repeats unchanged, and of all together, in bytes.
const (
	maxSelected    = 4 << 10
	maxAllSelected = 64 << 10
)

// At is the value at a dotted path; ok is false if the path does not exist.
func At(value json.RawMessage, path string) (json.RawMessage, bool) {
	for path != "" {
		var key string
		key, path, _ = strings.Cut(path, ".")
		value = bytes.TrimLeft(value, " \t\r\n")
		if len(value) == 0 {
			return nil, false
		}
		var ok bool
		if value, ok = child(value, key); !ok {
			return nil, false
		}
	}
	return bytes.TrimSpace(value), true
}

func child(value json.RawMessage, key string) (json.RawMessage, bool) {
	switch value[0] {
	case '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			return nil, false
		}
		below, ok := object[key]
		return below, ok
	case '[':
		var list []json.RawMessage
		i, err := strconv.Atoi(key)
		if err != nil || json.Unmarshal(value, &list) != nil || i < 0 || i >= len(list) {
			return nil, false
		}
		return list[i], true
	}
	return nil, false
}
