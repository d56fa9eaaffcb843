package loop

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
)

// What adapters say of a call that did not succeed. Any other error means: not now; try again later.
var (
	// ErrConflict means that the expectation of a write does not hold; nothing was stored.
	ErrConflict = errors.New("expectation does not hold")
	// ErrUnknown means that the outcome of a write is unknown: it may be made again under the same identity.
	ErrUnknown = errors.New("outcome unknown")
	// ErrTooLarge means that a message can never be stored.
	ErrTooLarge = errors.New("too large")
	// ErrNotFound means that what is read does not exist.
	ErrNotFound = errors.New("not found")
)

// Expect is the condition under which the broker stores a message. The zero value expects the message to be the first on
// its subject.
type Expect struct {
	// Any is true when nothing is expected.
	Any bool
	// Last is the sequence at which Subject must end; 0 means that it must be empty.
	Last uint64
	// Subject is the message's own when empty.
	Subject string
}

// Ack is the outcome of a message under way.
type Ack interface {
	// Wait gives the sequence, or ErrConflict, ErrUnknown, ErrTooLarge or another error.
	Wait(ctx context.Context) (uint64, error)
}

// Publisher sends messages.
type Publisher interface {
	// Publish sends a message that a stream keeps.
	Publish(m events.Message, expect Expect) Ack
	// Tell sends a message that no stream keeps.
	Tell(subject string, body []byte) error
}

// Log reads what was stored.
type Log interface {
	// EventsOf gives a job's events behind a sequence, in order, none missing.
	EventsOf(ctx context.Context, job string, after uint64) iter.Seq2[events.Event, error]
	// EventAt gives the event with a sequence, or ErrNotFound.
	EventAt(ctx context.Context, seq uint64) (events.Event, error)
	// EndOf gives the event with which a job has ended with no request behind it; the zero event when there
	// is none.
	EndOf(ctx context.Context, job string) (events.Event, error)
}

// Sweeper removes messages, and what they have led to.
type Sweeper interface {
	// PurgeRest removes what is left of a job of which the log has no request: its state, and its events. ErrLost when the state is that
	// of a job in motion, which is never deleted: the log has lost it, and everything is kept.
	PurgeRest(ctx context.Context, job string) error
	// PurgeWork removes work not yet taken; the subject may hold wildcards.
	PurgeWork(ctx context.Context, subject string) error
	// ReapJob removes a job: work, timers, journal, blobs, log, state, in this order, and then the log from a sequence on, which is
	// not acknowledged yet and comes again after a crash.
	ReapJob(ctx context.Context, job string, last uint64) error
}

// Saved is a job's state as it is kept.
type Saved struct {
	// State is what graph.Job marshals to; nil when there is none that can be trusted.
	State []byte
	// Refused says why what is kept is not given, where an operator ought to know; Load sets it.
	Refused string
	// Unsigned is true when the state has no digest, so that only the log can say whether it is what was written; Load sets it.
	Unsigned bool
	// Revision is what the next Save has to name, 0 when the key does not exist.
	Revision uint64
	// Session is the job's; Spent is what it has spent by this state, Before what it had by the one saved before.
	Session       string
	Before, Spent events.Spent
	// Talk is what the job's session has to know, nil for a job without one.
	Talk *Talk
}

// States keeps the states of jobs.
type States interface {
	// Load gives the kept state if it is the fold of the log as it stands, and the revision in any case.
	Load(ctx context.Context, job string) (Saved, error)
	// Save replaces the state that has a revision, or gives ErrConflict. A fault marks the job as quarantined.
	Save(ctx context.Context, job string, s Saved, fault *events.Fault) (revision uint64, err error)
}

// Journals reads and writes the journals of SubJobs.
type Journals interface {
	// Read gives all records of a SubJob and the sequence at which its subject ends.
	Read(ctx context.Context, job, subjob string) (entries []run.Entry, last uint64, err error)
	// Append adds a record if the subject still ends at last, or gives ErrConflict.
	Append(ctx context.Context, job, subjob string, r events.JournalRecord, last uint64) error
}

// Alarms keeps timers.
type Alarms interface {
	// Arm makes timer.fired come at a moment; arming again replaces.
	Arm(ctx context.Context, job, timer string, at time.Time) Ack
	// Purge disarms all timers of a job.
	Purge(ctx context.Context, job string) error
}

// Blobs keeps payloads that do not fit a message.
type Blobs interface {
	// PutBlob keeps bytes under their digest, once.
	PutBlob(ctx context.Context, job string, data []byte) (events.Ref, error)
	// GetBlob gives them back, or ErrNotFound.
	GetBlob(ctx context.Context, job, digest string) ([]byte, error)
}

// Ports is all that a partition needs of the world.
type Ports struct {
	Publisher Publisher
	Log       Log
	Sweeper   Sweeper
	States    States
	Journals  Journals
	Alarms    Alarms
	Blobs     Blobs
	Meter     Meter
	// Slots are those of keys that jobs share; nil lets everything through.
	Slots Slots
	// Queues are those of pools; without them a pool's pace is all that bounds its queue.
	Queues Queues
	// Takers are the pools that take batches; without it none does.
	Takers Takers
	// Load is told what is in motion; nil where no other part needs it.
	Load Load
}

// Load hears how much a partition has to do.
type Load interface {
	// Set says how many jobs have news that no save covers yet, and the last event that was delivered. It is called at the end of
	// every turn and must not block.
	Set(jobs int, seen uint64)
}

// Meter counts.
type Meter interface {
	// Count adds one to a family; the label is empty for a family without.
	Count(f Family, label string)
}

// Family names a counter.
type Family int

// The families that the loop counts.
const (
	Published   Family = iota // Events published, by kind.
	Ended                     // Jobs ended, by state.
	Replanned                 // Graphs changed, by reason.
	Ignored                   // Events that were not legal in their state, by kind.
	Duplicates                // Events that had been applied before, by kind.
	Orphans                   // Events of jobs that do not exist.
	Malformed                 // Messages in the log that are no events.
	Quarantined               // Jobs left alone, by code.
	Saves                     // States saved, by result: saved, conflict or error.
	Lined                     // Jobs that went into line with more work than there was room for, by pool.
	Reloads                   // States loaded from the store, by why.
)

func isConflict(err error) bool { return errors.Is(err, ErrConflict) }
