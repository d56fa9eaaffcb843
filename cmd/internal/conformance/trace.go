package conformance

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// seen is one observed message.
type seen struct {
	at     time.Duration // The time since the work was issued.
	what   what
	text   string // The text of the acknowledgement.
	record events.JournalRecord
	report events.SubJobReported
	fault  string // Why the message cannot be decoded.
	msg    bus.Tapped
}

type what int

const (
	nothing what = iota
	acked        // +ACK, or another form of it.
	settled      // +NAK or +TERM.
	inHand       // +WPI, a sign that the work continues.
	journaled
	reported
	parked
)

// trace is what was observed about one piece of work.
type trace struct {
	work    events.Work
	subject string
	seq     uint64 // The sequence of the work in its stream.
	list    []seen
	// journal is what the bus stored. It lacks rejected claims, which were only observed.
	journal []run.Entry
	ended   bool // Report, or request for input, and acknowledgement were observed in time.
}

// hear interprets a message; it ignores messages about other work.
func (t *trace) hear(n events.Names, m bus.Tapped, at time.Duration) {
	s := seen{at: at, msg: m}
	switch {
	case strings.HasPrefix(m.Subject, "$JS.ACK."):
		s.what, s.text = t.ack(m)
	case m.Subject == t.work.ClaimSubject:
		s.what = journaled
		s.fault = fault(json.Unmarshal(m.Body, &s.record))
	case m.Subject == t.work.ReportSubject:
		s.what = reported
		s.fault = fault(json.Unmarshal(m.Body, &s.report))
	case m.Subject == n.RunEvent(t.work.Job, events.KindInputRequested, t.work.SubJob, t.work.Run):
		s.what = parked
	}
	if s.what != nothing {
		t.list = append(t.list, s)
	}
}

func fault(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// ack interprets an acknowledgement of this work: the sequence is the fourth token from the end of the subject, or the
// seventh if the subject ends with a random token.
func (t *trace) ack(m bus.Tapped) (what, string) {
	tokens := strings.Split(m.Subject, ".")
	at := 5
	if len(tokens) > 9 {
		at = 7
	}
	if len(tokens) <= at || tokens[at] != strconv.FormatUint(t.seq, 10) {
		return nothing, ""
	}
	word, _, _ := strings.Cut(string(m.Body), " ")
	switch word {
	case "", "+ACK", "+OK", "+NXT":
		return acked, word
	case "+WPI":
		return inHand, word
	case "-NAK", "+TERM":
		return settled, word
	}
	return nothing, ""
}

// first returns the index of the first observed message of a kind, -1 for none.
func (t *trace) first(k what) int {
	for i := range t.list {
		if t.list[i].what == k {
			return i
		}
	}
	return -1
}

// all returns the observed messages of a kind, in order.
func (t *trace) all(k what) []seen {
	var list []seen
	for _, s := range t.list {
		if s.what == k {
			list = append(list, s)
		}
	}
	return list
}

// records returns the journal records of one type.
func (t *trace) records(typ events.JournalType) []seen {
	var list []seen
	for _, s := range t.all(journaled) {
		if s.record.Type == typ {
			list = append(list, s)
		}
	}
	return list
}

// over reports whether the worker has sent everything.
func (t *trace) over() bool {
	return t.first(acked) >= 0 && (t.first(reported) >= 0 || t.first(parked) >= 0)
}

// lasted returns the observed duration of the work.
func (t *trace) lasted() time.Duration {
	for _, s := range t.list {
		if s.what == reported || s.what == parked || s.what == acked {
			return s.at
		}
	}
	return 0
}

// taken returns the workers' claims that the bus stored.
func (t *trace) taken() []run.Entry {
	return slices.DeleteFunc(slices.Clone(t.journal), func(e run.Entry) bool { return e.Type != events.JournalClaimed || e.Owner == owner })
}
