package schedule

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Names builds and reads the subjects of schedules under one prefix.
type Names struct{ prefix string }

// NewNames gives the names that go together with those of jobs.
func NewNames(n events.Names) Names { return Names{n.Prefix()} }

// Stream is the stream of all facts of schedules.
func (n Names) Stream() string { return strings.ToUpper(n.prefix) + "_SCHEDULES" }

// All matches every fact of every schedule.
func (n Names) All() string { return n.prefix + ".schedule.>" }

// Facts matches every fact of one schedule.
func (n Names) Facts(id string) string { return n.prefix + ".schedule." + id + ".>" }

// Fact is the subject of a fact; key is that of its run, if it is about one.
func (n Names) Fact(id string, k events.Kind, key string) string {
	d, _ := Define(k)
	base := n.prefix + ".schedule." + id + "."
	if d.Control {
		return base + "control"
	}
	base += verb(k)
	if d.Run {
		base += "." + key
	}
	return base
}

func verb(k events.Kind) string { return strings.TrimPrefix(string(k), "schedule.") }

// Timer is where the timer of a moment is armed, DueAt its target, Timers those of one schedule.
func (n Names) Timer(id, key string) string { return n.prefix + ".timer." + id + "." + key }

// DueAt is the target of the timer of a moment; the stream of schedules takes it in as the fact Due.
func (n Names) DueAt(id, key string) string { return n.prefix + ".due." + id + "." + key }

// Timers matches the armed timers of a schedule.
func (n Names) Timers(id string) string { return n.Timer(id, "*") }

// Fact is one fact of a schedule, as written or as read.
type Fact struct {
	Kind events.Kind // Kind says what Data is.
	ID   string      // ID is the schedule's.
	Key  string      // Key is that of the run, where it is about one.
	// Name is the CloudEvents id; Source and Trace are the attributes of the same names.
	Name, Source, Trace string
	// Seq is the sequence in the stream and Time when it was stored; both are zero before.
	Seq  uint64
	Time time.Time
	Data any // Data is a pointer to the payload of Kind; nil when Fault is set.
	// Fault says why the fact cannot be read: malformed bytes are passed over, a kind of a later version must be understood
	// unless it says that it may be skipped.
	Fault *events.Fault
}

// Encode writes a fact as a CloudEvent in binary mode. It fails only for a payload that cannot be JSON.
func Encode(n Names, f Fact) (events.Message, error) {
	body, err := json.Marshal(f.Data)
	if err != nil {
		return events.Message{}, fmt.Errorf("encode %s: %w", f.Kind, err)
	}
	m := events.Message{Subject: n.Fact(f.ID, f.Kind, f.Key), Body: body, Header: events.Header(
		events.HeaderSpec, "1.0", events.HeaderID, f.Name, events.HeaderSource, f.Source, events.HeaderType, f.Kind.Type())}
	if f.Trace != "" {
		m.Header[events.HeaderTrace] = []string{f.Trace}
	}
	return m, nil
}

// Decode reads a message of the stream; ok is false when its subject is none of a schedule.
func Decode(n Names, m events.Message) (f Fact, ok bool) {
	rest, ok := strings.CutPrefix(m.Subject, n.prefix+".schedule.")
	t := strings.Split(rest, ".")
	if !ok || len(t) < 2 || len(t) > 3 || !ValidID(t[0]) {
		return f, false
	}
	f = Fact{Kind: events.Kind("schedule." + t[1]), ID: t[0]}
	f.Name, f.Source, f.Trace = m.Get(events.HeaderID), m.Get(events.HeaderSource), m.Get(events.HeaderTrace)
	control := t[1] == "control"
	if control {
		f.Kind, _ = events.KindOf(m.Get(events.HeaderType))
	}
	d, known := Define(f.Kind)
	switch {
	case !known && m.Get(events.HeaderSkippable) == "true":
		f.Fault = &events.Fault{Code: events.CodeSkippable, Message: fmt.Sprintf("unknown kind %.80q", f.Kind)}
	case !known && f.Kind != "" && strings.HasPrefix(m.Get(events.HeaderType), "io.jobgraph."):
		f.Fault = &events.Fault{Code: events.CodeMustUnderstand, Message: fmt.Sprintf("unknown kind %.80q", f.Kind), Hint: "upgrade the scheduler"}
	case !known || d.Control != control || d.Run != (len(t) == 3):
		f.Fault = &events.Fault{Code: events.CodeMalformed, Message: fmt.Sprintf("%.80q is no fact of a schedule", m.Subject)}
	default:
		f.read(d, m.Body)
	}
	if d.Run && len(t) == 3 {
		f.Key = t[2]
	}
	return f, true
}

func (f *Fact) read(d Definition, body []byte) {
	data := d.New()
	if err := json.Unmarshal(body, data); err != nil {
		f.Fault = &events.Fault{Code: events.CodeMalformed, Message: string(f.Kind) + " cannot be read", Cause: err.Error()}
		return
	}
	f.Data = data
}
