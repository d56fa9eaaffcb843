package batch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
)

const (
	// MostMembers is how many SubJobs a batch may contain.
	MostMembers = 64
	// MostBytes limits the body of a batch, in bytes; a longer member is sent alone.
	MostBytes = 256 << 10
)

// suffix marks the pool of a pool's batches. Ids chosen by users contain no tilde.
const suffix = "~batch"

// Pool returns the pool that holds the batches of a pool.
func Pool(pool string) string { return pool + suffix }

// Of returns the pool whose batches are in a pool; batches is false if the pool holds no batches.
func Of(pool string) (of string, batches bool) { return strings.CutSuffix(pool, suffix) }

// Subject returns the subject of a batch for an expert. If all members belong to one job, the subject contains its id, so that
// removing the job's work removes the batch; otherwise job is empty.
func Subject(n events.Names, pool, expert, job string, members int) string {
	if job == "" {
		job = suffix
	}
	return n.WorkFor(Pool(pool), expert, job, suffix, members)
}

// Member is the work of one SubJob in a batch.
type Member struct {
	// Subject and ID are the subject and message id that the work would have as a separate message.
	Subject string `json:"subject"`
	ID      string `json:"id"`
	// Trace is its W3C traceparent, if any.
	Trace string `json:"trace,omitempty"`
	// Work is the body that it would have, JSON on one line.
	Work json.RawMessage `json:"work"`
}

// source and issued are the CloudEvents source and type of all work messages.
const (
	source = "jobgraph/scheduler"
	issued = "io.jobgraph.subjob.issued.v1"
)

// Message returns the work as a separate message, as it is published without a batch, or put back into the queue if the runner has
// no room.
func (m *Member) Message() events.Message {
	header := events.Header(events.HeaderSpec, "1.0", events.HeaderID, m.ID, events.HeaderSource, source, events.HeaderType, issued,
		events.HeaderMsgID, m.ID)
	if m.Trace != "" {
		header[events.HeaderTrace] = []string{m.Trace}
	}
	return events.Message{Subject: m.Subject, Header: header, Body: m.Work}
}

// Fits reports whether a member may be added to a batch with this body and number of members: there is room, and its work
// is on one line.
func Fits(body []byte, members int, m *Member) bool {
	return members < MostMembers && len(body)+len(m.Subject)+len(m.ID)+len(m.Trace)+len(m.Work)+64 <= MostBytes && bytes.IndexByte(m.Work, '\n') < 0
}

// work separates the address of a member from its work.
const work = `,"work":`

// Append appends a member to the body of a batch. Its strings are subjects, ids and traceparents, which need no escapes.
func Append(body []byte, m *Member) []byte {
	body = append(append(body, `{"subject":"`...), m.Subject...)
	body = append(append(append(body, `","id":"`...), m.ID...), '"')
	if m.Trace != "" {
		body = append(append(append(body, `,"trace":"`...), m.Trace...), '"')
	}
	body = append(append(append(body, work...), m.Work...), '}', '\n')
	return body
}

// Read returns the members of a batch in order. They share its bytes. It fails if the body is not a batch.
func Read(body []byte) ([]Member, error) {
	members := make([]Member, 0, bytes.Count(body, []byte{'\n'}))
	for line := range bytes.Lines(body) {
		m, err := read(bytes.TrimRight(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("read batch: line %d: %w", len(members)+1, err)
		}
		members = append(members, m)
	}
	if len(members) == 0 {
		return nil, errors.New("read batch: it is empty")
	}
	return members, nil
}

// read parses the address without reflection if it has the form that Append writes, else with encoding/json. The work is
// not parsed here; the runner does that.
func read(line []byte) (m Member, err error) {
	at := bytes.Index(line, []byte(work))
	if at < 0 || line[len(line)-1] != '}' {
		return m, fmt.Errorf("%.80q is no member", line)
	}
	if !m.plain(line[:at]) {
		m = Member{}
		if err := json.Unmarshal(append(line[:at:at], '}'), &m); err != nil {
			return m, err
		}
	}
	m.Work = line[at+len(work) : len(line)-1]
	if m.Subject == "" || m.ID == "" {
		return m, errors.New("a member has no subject or no id")
	}
	return m, nil
}

// plain parses an address in the form that Append writes.
func (m *Member) plain(address []byte) bool {
	text := string(address)
	if strings.Contains(text, `\`) {
		return false
	}
	subject, ok := strings.CutPrefix(text, `{"subject":"`)
	if !ok {
		return false
	}
	subject, id, _ := strings.Cut(subject, `","id":"`)
	id, trace, traced := strings.Cut(id, `","trace":"`)
	last := &id
	if traced {
		last = &trace
	}
	*last, ok = strings.CutSuffix(*last, `"`)
	m.Subject, m.ID, m.Trace = subject, id, trace
	return ok && !strings.Contains(subject+id+trace, `"`)
}
