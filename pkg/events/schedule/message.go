package schedule

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Names builds and parses the subjects of schedules under one prefix.
type Names struct{ prefix string }

// NewNames returns the names under the same prefix as those of jobs.
func NewNames(n events.Names) Names { return Names{n.Prefix()} }

// Stream is the name of the stream of all schedules' facts.
func (n Names) Stream() string { return strings.ToUpper(n.prefix) + "_SCHEDULES" }

// All matches every fact of every schedule.
func (n Names) All() string { return n.prefix + ".schedule.>" }

// Facts matches every fact of one schedule.
func (n Names) Facts(id string) string { return n.prefix + ".schedule." + id + ".>" }

// Fact returns the subject of a fact; key is the key of its run, for facts about a run.
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

// Timer returns the subject on which the timer of a due time is armed.
func (n Names) Timer(id, key string) string { return n.prefix + ".timer." + id + "." + key }

// DueAt returns the target of that timer; the stream of schedules stores it as the fact Due.
func (n Names) DueAt(id, key string) string { return n.prefix + ".due." + id + "." + key }

// Timers matches the armed timers of a schedule.
func (n Names) Timers(id string) string { return n.Timer(id, "*") }

// Fact is one fact of a schedule, to be written or as read.
type Fact struct {
	Kind events.Kind // Kind determines the type of Data.
	ID   string      // ID is the id of the schedule.
	Key  string      // Key is the key of the run, for facts about a run.
	// Name is the CloudEvents id; Source and Trace are the CloudEvents attributes.
	Name, Source, Trace string
	// Seq is the sequence in the stream and Time when it was stored; both are zero before that.
	Seq  uint64
	Time time.Time
	Data any // Data is a pointer to the payload of Kind; nil if Fault is set.
	// Fault says why the fact cannot be read. Malformed facts are skipped; a kind of a later version must be understood
	// unless it is marked as skippable.
	Fault *events.Fault
}

// Encode writes a fact as a CloudEvent in binary mode. It fails only if the payload cannot be encoded as JSON.
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

// Decode decodes a message of the stream; ok is false if its subject is not that of a schedule.
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
