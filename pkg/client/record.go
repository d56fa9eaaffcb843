package client

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Record is one stored message of a job's log in an export file, one JSON object per line. The body survives byte for byte.
type Record struct {
	// Subject is the subject on which the message was stored.
	Subject string
	// Header holds all headers of the message.
	Header map[string][]string
	// Seq is its sequence in the original log, Time that log's timestamp.
	Seq  uint64
	Time time.Time
	// Body is the body of the message.
	Body []byte
}

// recordForm is the encoding: a body of compact JSON is kept as JSON, any other is base64.
type recordForm struct {
	Subject string              `json:"subject"`
	Header  map[string][]string `json:"headers,omitempty"`
	Seq     uint64              `json:"seq"`
	Time    time.Time           `json:"time"`
	Body    json.RawMessage     `json:"body,omitempty"`
	Raw     []byte              `json:"raw,omitempty"`
}

// MarshalJSON writes the form of the export file.
func (r Record) MarshalJSON() ([]byte, error) {
	form := recordForm{Subject: r.Subject, Header: r.Header, Seq: r.Seq, Time: r.Time}
	if survives(r.Body) {
		form.Body = r.Body
	} else {
		form.Raw = r.Body
	}
	return json.Marshal(form)
}

// UnmarshalJSON reads the form of the export file.
func (r *Record) UnmarshalJSON(data []byte) error {
	var form recordForm
	if err := json.Unmarshal(data, &form); err != nil {
		return err
	}
	*r = Record{Subject: form.Subject, Header: form.Header, Seq: form.Seq, Time: form.Time, Body: form.Body}
	if form.Body == nil {
		r.Body = form.Raw
	}
	return nil
}

// survives reports whether a body is unchanged after being embedded in another JSON text.
func survives(body []byte) bool {
	if len(body) == 0 || string(body) == "null" {
		return false
	}
	written, err := json.Marshal(json.RawMessage(body))
	return err == nil && bytes.Equal(written, body)
}

// Message returns the record as a message of the bus.
func (r Record) Message() events.Message {
	return events.Message{Subject: r.Subject, Header: r.Header, Body: r.Body}
}

// Event decodes the record; ok is false if its subject is not of the log under these names.
func (r Record) Event(n events.Names) (e events.Event, ok bool) {
	e, ok = events.Decode(n, r.Message())
	e.Seq, e.Time = r.Seq, r.Time
	return e, ok
}
