package web

import (
	"encoding/json"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// workBuffer is the work without what concerns only the bus: its fields hide those of the same name in Work.
type workBuffer struct {
	*events.Work
	ReportSubject string   `json:"report_subject,omitempty"`
	ReportID      string   `json:"report_id,omitempty"`
	ClaimSubject  string   `json:"claim_subject,omitempty"`
	CancelSubject string   `json:"cancel_subject,omitempty"`
	Lease         string   `json:"lease,omitempty"`
	Select        []string `json:"select,omitempty"`
}

// write returns the work as JSON.
func write(w *events.Work) (json.RawMessage, error) {
	body, err := json.Marshal(workBuffer{Work: w})
	if err != nil {
		return nil, fmt.Errorf("write work: %w", err)
	}
	return body, nil
}

// body returns what to send: all of the work, or one of its fields.
func (c *Config) body(workBuffer json.RawMessage) ([]byte, error) {
	if !c.sends() {
		return nil, nil
	}
	if c.Body == "" {
		return workBuffer, nil
	}
	field, ok := task.At(workBuffer, c.Body)
	if !ok {
		return nil, unfit(c.Body + " is missing in the work, and is what is sent")
	}
	return field, nil
}
