package run

import (
	"encoding/json"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Entry is one stored record of a journal.
type Entry struct {
	events.JournalRecord
	// Seq is its sequence in the stream of journals, and Time the stream's own timestamp.
	Seq  uint64
	Time time.Time
	// Apart is true if the record is stored on another subject than that of the next append.
	Apart bool
	// Malformed says why the bytes are not a record; Type is empty then, and only the sequence of the entry counts.
	Malformed string
}

// Limits of a lease: a shorter one could not be renewed in time, a longer one would outlive its owner by hours.
const (
	DefaultLease = 10 * time.Second
	MinLease     = 300 * time.Millisecond
	MaxLease     = 10 * time.Minute
)

// Command is the key and the name of the one effect of a command expert: the command itself.
const Command = "command"

// Effect is an external effect that a run is about to make.
type Effect struct {
	// Key identifies the effect within its run, and within the runs that continue it.
	Key string
	// Name is the kind of effect; empty for none.
	Name string
	// Safe is true if it may be repeated after an unknown outcome.
	Safe bool
	// Args are its arguments; any JSON.
	Args json.RawMessage
}

// resume is the part of a claim about the run that it continues.
type resume struct {
	Of int `json:"resume_of,omitempty"`
}

// Claimed returns the record that claims a run for a lease. It also announces the effect first, unless that has no name,
// which saves an append. resumes is the run that it continues, 0 for none.
func Claimed(run int, owner string, lease time.Duration, resumes int, first Effect) events.JournalRecord {
	r := events.JournalRecord{Type: events.JournalClaimed, Run: run, Owner: owner, Lease: events.Duration(lease)}
	if first.Name != "" {
		r.Key, r.Name, r.Safe = first.Key, first.Name, first.Safe
	}
	if resumes > 0 {
		r.Data, _ = json.Marshal(resume{Of: resumes}) // A number can always be encoded.
	}
	return r
}

// Renewed returns the record that extends a claim by a lease.
func Renewed(run int, owner string, lease time.Duration) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalRenewed, Run: run, Owner: owner, Lease: events.Duration(lease)}
}

// Released returns the record that ends a claim at once, so that the next delivery need not wait for the lease.
func Released(run int, owner string) events.JournalRecord { return Renewed(run, owner, 0) }

// Intends returns the record that an effect is about to be made.
func Intends(run int, owner string, e Effect) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalIntent, Run: run, Owner: owner, Key: e.Key, Name: e.Name, Safe: e.Safe, Data: e.Args}
}

// Made returns the record of the end of an effect: its result, or why it has none.
func Made(run int, owner string, e Effect, result json.RawMessage, failed error) events.JournalRecord {
	r := events.JournalRecord{Type: events.JournalResult, Run: run, Owner: owner, Key: e.Key, Name: e.Name, Data: result}
	if failed != nil {
		r.Data, r.Reason = nil, "failed: "+failed.Error()
	}
	return r
}

// NotBegun returns the record that an announced effect was never begun, so that no person is asked about it.
func NotBegun(run int, owner string, e Effect) events.JournalRecord {
	r := Made(run, owner, e, nil, nil)
	r.Reason = "not begun"
	return r
}

// Reported returns the record of the event with which a run ends, before that is published.
func Reported(run int, owner string, kind events.Kind, body json.RawMessage) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalReported, Run: run, Owner: owner, Name: string(kind), Data: body}
}

// Closed returns the record that closes a run and all lower ones.
func Closed(run int, reason string) events.JournalRecord {
	return events.JournalRecord{Type: events.JournalClosed, Run: run, Reason: reason}
}
