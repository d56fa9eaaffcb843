package item

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode returns the body of a message with items: one item as JSON per line. One item alone is bare JSON, so that any
// program can publish it.
func Encode(list []Item) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i := range list {
		if err := e.Encode(&list[i]); err != nil {
			return nil, fmt.Errorf("encode item %s: %w", list[i].ID, err)
		}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Decode parses the body of a message. Lines that are not items are left out and counted: any program may publish.
func Decode(body []byte) (list []Item, unreadable int) {
	for line := range bytes.Lines(body) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var i Item
		if json.Unmarshal(line, &i) != nil || i.Type == "" {
			unreadable++
			continue
		}
		list = append(list, i)
	}
	return list, unreadable
}
