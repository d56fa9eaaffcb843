package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/incarnation"
)

// Header names. The ce- ones are those of the CloudEvents binary content mode.
const (
	HeaderSpec      = "ce-specversion"
	HeaderID        = "ce-id"
	HeaderSource    = "ce-source"
	HeaderType      = "ce-type"
	HeaderSkippable = "ce-skippable" // "true" for kinds that a reader may skip if it does not know them.
	HeaderTrace     = "traceparent"
	HeaderMsgID     = "Nats-Msg-Id"
	HeaderZone      = "Jobgraph-Timezone" // The time zone of the sender of a request; used if request, session and user have none.
)

// Message is one message, independent of any bus library.
type Message struct {
	Subject string              // Subject is where it is, or was, published.
	Header  map[string][]string // Header holds its headers; CloudEvents ones in lower case.
	Body    []byte              // Body is its payload; JSON in all our messages.
}

// Get returns the first value of a header, or "".
func (m *Message) Get(name string) string {
	if v := m.Header[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Event is one fact of a job, to be written or as read from the log.
type Event struct {
	Kind    Kind      // Kind determines the type of Data.
	ID      string    // ID is the CloudEvents id; deterministic for all events that Jobgraph derives.
	Job     string    // Job is the job's id.
	SubJob  string    // SubJob is the SubJob of the run, for facts about one run.
	Run     int       // Run is the number of that run.
	Pool    string    // Pool is the pool that the run belongs to according to the subject, if it says so: only its workers may publish there.
	Key     string    // Key is the last token of the subject, for facts about a request, a timer or a turn.
	Control bool      // Control is true if the event was read from the job's control subject.
	Source  string    // Source is the CloudEvents source: the component that published the event.
	Trace   string    // Trace is the W3C traceparent, if any.
	Born    uint64    // Born is the sequence of the request of the job that the message id names; 0 if it names none.
	Seq     uint64    // Seq is the sequence in the log; 0 before the event is stored.
	Time    time.Time // Time is the log's timestamp; zero before the event is stored.
	Data    any       // Data is a pointer to the payload of Kind; nil if Fault is set or the kind is unknown.
	Raw     []byte    // Raw is the body as read, if Fault is set.
	Fault   *Fault    // Fault says why the body could not be decoded.
}

// Encode writes an event in binary mode. It fails only if the payload cannot be encoded as JSON.
func Encode(n Names, e Event) (Message, error) {
	body, err := Marshal(e.Data)
	if err != nil {
		return Message{}, fmt.Errorf("encode %s: %w", e.Kind, err)
	}
	m := Message{Body: body, Header: Header(HeaderSpec, "1.0", HeaderID, e.ID, HeaderSource, e.Source, HeaderType, e.Kind.Type())}
	if e.Trace != "" {
		m.Header[HeaderTrace] = []string{e.Trace}
	}
	if byKind[e.Kind].Skippable {
		m.Header[HeaderSkippable] = []string{"true"}
	}
	switch {
	case byKind[e.Kind].Run:
		m.Subject = n.RunEventOf(e.Job, e.Kind, e.SubJob, e.Run, e.Pool)
	case e.Key != "":
		m.Subject = n.Event(e.Job, e.Kind, e.Key)
	default:
		m.Subject = n.Event(e.Job, e.Kind)
	}
	return m, nil
}

// Decode decodes a message of the log. ok is false if the subject is not of the log. If the body cannot be decoded, Data is
// nil, Fault is set and Raw holds the bytes. The code of the fault says what to do: malformed events and skippable kinds of
// later versions are skipped; any other unknown kind must be understood.
func Decode(n Names, m Message) (e Event, ok bool) {
	a, ok := n.Parse(m.Subject)
	if !ok {
		return e, false
	}
	e = Event{Kind: a.Kind, Job: a.Job, SubJob: a.SubJob, Run: a.Run, Pool: a.Pool, Key: a.ID, Control: a.Control}
	e.ID, e.Source, e.Trace, e.Born = m.Get(HeaderID), m.Get(HeaderSource), m.Get(HeaderTrace), incarnation.Of(m.Get(HeaderMsgID), a.Job)
	ceType, skippable, body := m.Get(HeaderType), m.Get(HeaderSkippable) == "true", m.Body
	if ceType == "" {
		ceType, skippable, body = e.structured(body)
	}
	kind, version := kindOf(ceType)
	if a.Control && version != "" {
		e.Kind = kind
	}
	d, known := byKind[e.Kind]
	switch {
	case e.Kind == "": // A message on the control subject without a kind of ours requests nothing.
		e.spoil(body, errors.New("no kind is named"))
	case !a.Control && ceType != "" && kind != a.Kind:
		e.spoil(m.Body, fmt.Errorf("subject says %s, type says %.80q", a.Kind, ceType))
	case version != "" && (!known || version != "v1"):
		e.Raw, e.Fault = body, &Fault{Code: CodeMustUnderstand, Message: fmt.Sprintf("unknown kind %.80q", ceType), Hint: "upgrade this service"}
		if skippable {
			e.Fault.Code = CodeSkippable
		}
	case !known:
		e.spoil(body, fmt.Errorf("unknown kind %.80q", e.Kind))
	case a.Control != d.Control:
		e.spoil(body, fmt.Errorf("%s does not belong on subject %s", e.Kind, m.Subject))
	default:
		e.decode(d, body)
	}
	return e, true
}

// structured decodes a CloudEvent in structured mode, or a bare body that contains its kind in "type".
func (e *Event) structured(body []byte) (ceType string, skippable bool, data []byte) {
	var s struct {
		Spec      string          `json:"specversion"`
		Type      string          `json:"type"`
		ID        string          `json:"id"`
		Source    string          `json:"source"`
		Trace     string          `json:"traceparent"`
		Skippable bool            `json:"skippable"`
		Data      json.RawMessage `json:"data"`
	}
	if !bytes.Contains(body, []byte(`"type"`)) || json.Unmarshal(body, &s) != nil {
		return "", false, body
	}
	if s.Spec == "" {
		if _, version := kindOf(s.Type); version == "" {
			return "", false, body
		}
		return s.Type, s.Skippable, body
	}
	e.ID, e.Source, e.Trace = s.ID, s.Source, s.Trace
	if s.Data == nil {
		s.Data = json.RawMessage("{}")
	}
	return s.Type, s.Skippable, s.Data
}
