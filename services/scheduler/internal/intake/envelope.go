package intake

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// RequestOf decodes a queued request, which may be in the envelope of a CloudEvent.
func RequestOf(body []byte) (events.Request, events.Faults) {
	body, _ = unwrapped(body, Origin{})
	return events.DecodeRequest(body)
}

// unwrapped extracts the request from a CloudEvent in structured mode, with the origin in its envelope; headers take precedence.
// Any other body is the request itself.
func unwrapped(body []byte, origin Origin) ([]byte, Origin) {
	var e struct {
		Spec   string          `json:"specversion"`
		Type   string          `json:"type"`
		ID     string          `json:"id"`
		Source string          `json:"source"`
		Trace  string          `json:"traceparent"`
		Data   json.RawMessage `json:"data"`
	}
	if !bytes.Contains(body, []byte(`"specversion"`)) || json.Unmarshal(body, &e) != nil || e.Spec == "" || e.Type == "" || e.Data == nil {
		return body, origin
	}
	if origin.EventID == "" && e.ID != "" {
		origin.Source, origin.EventID = cmp.Or(origin.Source, e.Source), e.ID
	}
	origin.Trace = cmp.Or(origin.Trace, e.Trace)
	return e.Data, origin
}
