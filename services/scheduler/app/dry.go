package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/client"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// dry implements the loop's ports for a dry run: it prints every effect, and reads what the recorded job contains.
type dry struct {
	blobs map[string][]byte
	bySeq map[uint64]events.Event

	mu  sync.Mutex // Guards out and err: saves and closes come from their own goroutines.
	out *json.Encoder
	err error
}

// line is one line of the output: an event, or an effect that follows it.
type line struct {
	Seq     uint64          `json:"seq,omitempty"`
	Event   string          `json:"event,omitempty"`
	SubJob  string          `json:"subjob,omitempty"`
	Run     int             `json:"run,omitempty"`
	Command string          `json:"command,omitempty"`
	Subject string          `json:"subject,omitempty"`
	At      time.Time       `json:"at,omitzero"`
	Bytes   int             `json:"bytes,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
}

func newDry(x *client.Export, out io.Writer) *dry {
	d := &dry{blobs: map[string][]byte{}, bySeq: map[uint64]events.Event{}, out: json.NewEncoder(out)}
	for digest, data := range x.Blobs {
		d.blobs[digest] = data
	}
	for e, err := range x.Events() {
		if err == nil {
			d.bySeq[e.Seq] = e
		}
	}
	return d
}

// take prints the event that the loop applies next.
func (d *dry) take(e events.Event) {
	d.print(line{Seq: e.Seq, Event: string(e.Kind), SubJob: e.SubJob, Run: e.Run})
}

func (d *dry) print(l line) {
	if !json.Valid(l.Body) {
		l.Body = nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.out.Encode(l); err != nil && d.err == nil {
		d.err = fmt.Errorf("print: %w", err)
	}
}

// done is an ack that has already arrived: in a dry run every publish succeeds at once.
type done struct{}

// Wait returns at once, with sequence 0.
func (done) Wait(context.Context) (uint64, error) { return 0, nil }

// Publish prints the message.
func (d *dry) Publish(m events.Message, _ loop.Expect) loop.Ack {
	d.print(line{Command: "publish", Subject: m.Subject, Body: m.Body})
	return done{}
}

// Tell prints the message.
func (d *dry) Tell(subject string, body []byte) error {
	d.print(line{Command: "tell", Subject: subject, Body: body})
	return nil
}

// EventsOf returns nothing: a recorded job is folded from its first event.
func (d *dry) EventsOf(context.Context, string, uint64) iter.Seq2[events.Event, error] {
	return func(func(events.Event, error) bool) {}
}

// EventAt returns a recorded event.
func (d *dry) EventAt(_ context.Context, seq uint64) (events.Event, error) {
	e, ok := d.bySeq[seq]
	if !ok {
		return e, fmt.Errorf("event %d is not in the record: %w", seq, store.ErrNotFound)
	}
	return e, nil
}

// EndOf returns nothing: a replay folds the whole log and knows the end.
func (d *dry) EndOf(context.Context, string) (events.Event, error) { return events.Event{}, nil }

// PurgeRest prints the purge.
func (d *dry) PurgeRest(_ context.Context, job string) error {
	d.print(line{Command: "purge", Subject: job})
	return nil
}

// PurgeWork prints the purge.
func (d *dry) PurgeWork(_ context.Context, subject string) error {
	d.print(line{Command: "purge", Subject: subject})
	return nil
}

// ReapJob prints the deletion.
func (d *dry) ReapJob(_ context.Context, job string, _ uint64) error {
	d.print(line{Command: "delete", Subject: job})
	return nil
}

// Load returns no state: the loop folds the recorded log.
func (d *dry) Load(context.Context, string) (loop.Saved, error) { return loop.Saved{}, nil }

// Save prints the size of the state, or the fault of a job that is quarantined.
func (d *dry) Save(_ context.Context, job string, s loop.Saved, fault *events.Fault) (uint64, error) {
	l := line{Command: "save", Subject: job, Bytes: len(s.State)}
	if fault != nil {
		l.Command = "quarantine"
		l.Body, _ = json.Marshal(fault) // A fault is strings and a reference: it always is JSON.
	}
	d.print(l)
	return s.Revision + 1, nil
}

// Journal returns an empty journal.
func (d *dry) Journal(job, subjob, _ string) lease.One { return dryJournal{d, job + "/" + subjob} }

// dryJournal is a journal that prints appended records.
type dryJournal struct {
	*dry
	subject string
}

// Read returns no records.
func (dryJournal) Read(context.Context) ([]run.Entry, uint64, error) { return nil, 0, nil }

// Append prints the record.
func (j dryJournal) Append(_ context.Context, r events.JournalRecord, _ uint64) (uint64, error) {
	body, err := json.Marshal(r)
	j.print(line{Command: "journal", Subject: j.subject, Body: body})
	return 0, err
}

// Arm prints the timer.
func (d *dry) Arm(_ context.Context, _, timer string, at time.Time) loop.Ack {
	d.print(line{Command: "arm", Subject: timer, At: at})
	return done{}
}

// Purge prints that all timers of a job are purged.
func (d *dry) Purge(_ context.Context, job string) error {
	d.print(line{Command: "disarm", Subject: job})
	return nil
}

// PutBlob keeps the bytes in memory for the duration of the dry run.
func (d *dry) PutBlob(_ context.Context, job string, data []byte) (events.Ref, error) {
	sum := sha256.Sum256(data)
	ref := events.Ref{Digest: hex.EncodeToString(sum[:]), Size: int64(len(data))}
	d.blobs[ref.Digest] = data
	d.print(line{Command: "blob", Subject: job + "/" + ref.Digest, Bytes: len(data)})
	return ref, nil
}

// GetBlob returns a recorded blob.
func (d *dry) GetBlob(_ context.Context, _, digest string) ([]byte, error) {
	data, ok := d.blobs[digest]
	if !ok {
		return nil, fmt.Errorf("blob %s is not in the record: %w", digest, store.ErrNotFound)
	}
	return data, nil
}

// Ack does nothing: a dry run has no consumer.
func (d *dry) Ack() error { return nil }

// InProgress does nothing: a dry run has no consumer.
func (d *dry) InProgress() error { return nil }

// Count does nothing: a dry run has no metrics.
func (d *dry) Count(loop.Family, string) {}
