package joblog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Difference is one field in which the saved state and the fold differ.
type Difference struct {
	Field  string          `json:"field"`
	Saved  json.RawMessage `json:"saved,omitempty"`
	Folded json.RawMessage `json:"folded,omitempty"`
}

// beside reports whether a field belongs to the store and not to the core.
func beside(field string) bool { return field == "store" || field == "quarantined" }

// Differences compares two states byte for byte, by field and by SubJob.
func Differences(saved, folded json.RawMessage) ([]Difference, error) {
	var left, right map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(saved, &left), json.Unmarshal(folded, &right)); err != nil {
		return nil, fmt.Errorf("saved state: %w", err)
	}
	var list []Difference
	for _, field := range keysOf(left, right) {
		if beside(field) || string(left[field]) == string(right[field]) {
			continue
		}
		if field == "subjobs" {
			list = append(list, nodeDifferences(left[field], right[field])...)
			continue
		}
		list = append(list, Difference{field, left[field], right[field]})
	}
	return list, nil
}

func nodeDifferences(saved, folded json.RawMessage) []Difference {
	left, right := nodesOf(saved), nodesOf(folded)
	var list []Difference
	for _, id := range keysOf(left, right) {
		if string(left[id]) != string(right[id]) {
			list = append(list, Difference{"subjobs." + id, left[id], right[id]})
		}
	}
	if len(list) == 0 {
		list = append(list, Difference{Field: "subjobs"}) // Only the order of the SubJobs differs.
	}
	return list
}

func nodesOf(raw json.RawMessage) map[string]json.RawMessage {
	var nodes []json.RawMessage
	byID := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &nodes) != nil {
		return byID
	}
	for _, n := range nodes {
		var id struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(n, &id) == nil {
			byID[id.ID] = n
		}
	}
	return byID
}

func keysOf(maps ...map[string]json.RawMessage) []string {
	var keys []string
	for _, m := range maps {
		for k := range m { // any order: sorted below.
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
