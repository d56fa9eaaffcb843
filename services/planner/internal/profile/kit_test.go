package profile

import (
	"encoding/json"
	"errors"

	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// plainReader accepts strict JSON only.
func plainReader(text string, want *planning.Wanted) (json.RawMessage, error) {
	if raw := json.RawMessage(text); json.Valid(raw) && want.Fits(raw) {
		return raw, nil
	}
	return nil, errors.New("no JSON")
}
