package loop

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// Expect is the condition under which the broker stores a message. The zero value expects the message to be the first on
// its subject.
type Expect struct {
	// Any is true when nothing is expected.
	Any bool
	// Last is the sequence at which Subject must end; 0 means that it must be empty.
	Last uint64
	// Subject defaults to the subject of the message.
	Subject string
}

// Ack is the outcome of a publish in progress.
type Ack interface {
	// Wait returns the sequence, or store.ErrConflict, store.ErrUnknown, store.ErrTooLarge or another error.
	Wait(ctx context.Context) (uint64, error)
}

// Publisher sends messages.
type Publisher interface {
	// Publish sends a message that a stream stores.
	Publish(m events.Message, expect Expect) Ack
	// Tell sends a message that no stream stores.
	Tell(subject string, body []byte) error
}

// Log reads stored events.
type Log interface {
	// EventsOf returns a job's events after a sequence, in order and without gaps.
	EventsOf(ctx context.Context, job string, after uint64) iter.Seq2[events.Event, error]
	// EventAt returns the event with a sequence, or store.ErrNotFound.
	EventAt(ctx context.Context, seq uint64) (events.Event, error)
	// EndOf returns the event that ended a job, if no request follows it; otherwise the zero event.
	EndOf(ctx context.Context, job string) (events.Event, error)
}

// Sweeper deletes messages, and everything that is stored for a job.
type Sweeper interface {
	// PurgeRest removes what is left of a job without a request in the log: its state and its events. It returns ErrLost for the
	// state of an active job, which is never deleted: the log has lost the job, and everything stays.
	PurgeRest(ctx context.Context, job string) error
	// PurgeWork removes work that no worker has taken; the subject may contain wildcards.
	PurgeWork(ctx context.Context, subject string) error
	// ReapJob removes a job: work, timers, journal, blobs, log, state, in this order, and last the log from a sequence on, which
	// is not acknowledged yet and is delivered again after a crash.
	ReapJob(ctx context.Context, job string, last uint64) error
}

// Saved is a job's saved state.
type Saved struct {
	// State is the JSON of graph.Job; nil if no saved state can be trusted.
	State []byte
	// Refused says why the saved state was not returned, if an operator should know; Load sets it.
	Refused string
	// Unsigned is true if the state has no digest, so that only the log can confirm it; Load sets it.
	Unsigned bool
	// Revision is the revision that the next Save must name, 0 if the key does not exist.
	Revision uint64
	// Session is the job's session; Spent is what the job had spent at this state, Before at the previously saved one.
	Session       string
	Before, Spent events.Spent
	// SessionRecord is the record for the job's session, nil for a job without one.
	SessionRecord *SessionRecord
	// Said are items for its conversation, in order; some may have been stored before.
	Said []Said
}

// States keeps the saved states of jobs.
type States interface {
	// Load returns the saved state if it is the fold of the current log, and the revision in any case.
	Load(ctx context.Context, job string) (Saved, error)
	// Save replaces the state at a revision, or returns store.ErrConflict. A fault marks the job as quarantined.
	Save(ctx context.Context, job string, s Saved, fault *events.Fault) (revision uint64, err error)
}

// Journals returns the journals of SubJobs.
type Journals interface {
	// Journal returns the records of a SubJob on the subject of a pool; "" is the subject without one.
	Journal(job, subjob, pool string) lease.One
}

// Alarms arms timers.
type Alarms interface {
	// Arm makes timer.fired arrive at a time; arming again replaces the timer.
	Arm(ctx context.Context, job, timer string, at time.Time) Ack
	// Purge disarms all timers of a job.
	Purge(ctx context.Context, job string) error
}

// Blobs stores payloads that are too large for a message.
type Blobs interface {
	// PutBlob stores bytes under their digest, once.
	PutBlob(ctx context.Context, job string, data []byte) (events.Ref, error)
	// GetBlob returns the bytes with a digest, or store.ErrNotFound.
	GetBlob(ctx context.Context, job, digest string) ([]byte, error)
}

// Ports is everything that a partition needs from outside.
type Ports struct {
	Publisher Publisher
	Log       Log
	Sweeper   Sweeper
	States    States
	Journals  Journals
	Alarms    Alarms
	Blobs     Blobs
	Meter     Meter
	// Slots are the slots of concurrency keys; nil admits everything.
	Slots Slots
	// Queues reads the queues of pools; without it the throughput of a pool limits its queue.
	Queues Queues
	// Takers knows the pools that accept batches; nil means none.
	Takers Takers
	// Load receives the number of active jobs; nil if no other part needs it.
	Load Load
}

// Load receives how much work a partition has.
type Load interface {
	// Set receives the number of jobs with unsaved changes, and the last event that this step has received; 0 if it has received none.
	// It is called at the end of every step and must not block.
	Set(jobs int, seen uint64)
}

// Meter counts what the loop does, for metrics.
type Meter interface {
	// Count adds one to a family; label is empty for a family without labels.
	Count(f Family, label string)
}

// Family names a counter.
type Family int

// The families that the loop counts.
const (
	Published   Family = iota // Events published, by kind.
	Ended                     // Jobs that ended, by final status.
	Replanned                 // Graphs changed, by reason.
	Ignored                   // Events that were not legal in their state, by kind.
	Duplicates                // Events that had been applied before, by kind.
	Orphans                   // Events of jobs that do not exist.
	Malformed                 // Messages in the log that are not events.
	Quarantined               // Jobs quarantined, by fault code.
	Saves                     // States saved, by result: saved, conflict or error.
	Lined                     // Jobs that had to wait for room in a pool's queue, by pool.
	Reloads                   // States loaded from the store, by reason.
)

func isConflict(err error) bool { return errors.Is(err, store.ErrConflict) }
