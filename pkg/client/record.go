package client

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Record is one stored message of a job's log as an export file holds it, one JSON object a line. The body comes back byte
// for byte.
type Record struct {
	// Subject is where the message stands in the log.
	Subject string
	// Header holds all of its headers.
	Header map[string][]string
	// Seq is its sequence in the log it was taken from; Time that log's timestamp.
	Seq  uint64
	Time time.Time
	// Body is the message's body.
	Body []byte
}

// recordForm is the written form: a body that is compact JSON stands as it is, any other as base64.
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

// survives reports whether a body comes back the same when it is written inside another JSON text.
func survives(body []byte) bool {
	if len(body) == 0 || string(body) == "null" {
		return false
	}
	written, err := json.Marshal(json.RawMessage(body))
	return err == nil && bytes.Equal(written, body)
}

// Message is the record as a message of the bus.
func (r Record) Message() events.Message {
	return events.Message{Subject: r.Subject, Header: r.Header, Body: r.Body}
}

// Event decodes the record; ok is false when its subject is none of the log under these names.
func (r Record) Event(n events.Names) (e events.Event, ok bool) {
	e, ok = events.Decode(n, r.Message())
	e.Seq, e.Time = r.Seq, r.Time
	return e, ok
}
