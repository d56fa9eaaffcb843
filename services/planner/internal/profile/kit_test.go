package profile

import (
	"encoding/json"
	"errors"
)

// plainReader accepts strict JSON only.
func plainReader(text string, fits func(json.RawMessage) bool) (json.RawMessage, error) {
	if raw := json.RawMessage(text); json.Valid(raw) && fits(raw) {
		return raw, nil
	}
	return nil, errors.New("no JSON")
}
