package loop

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// What adapters say of a write that did not succeed. Any other error means: not now, or unknown; try again.
var (
	// ErrConflict means that the expectation of a write does not hold; nothing was stored.
	ErrConflict = lease.ErrConflict
	// ErrTooLarge means that the message can never be stored.
	ErrTooLarge = lease.ErrTooLarge
	// ErrNotFound means that what is read does not exist.
	ErrNotFound = errors.New("not found")
)

// Delivery is one work message in hand.
type Delivery struct {
	// Subject and Body are the message.
	Subject string
	Body    []byte
	// Trace is its W3C traceparent, if any.
	Trace string
	// Count says how often it was delivered, 1 for the first time; Stored is when it was published.
	Count  int
	Stored time.Time
	// Receipt settles it.
	Receipt Receipt
}

// Verb is what is said of a delivery.
type Verb string

// The verbs.
const (
	Ack      Verb = "ack"      // Done; never again.
	Nak      Verb = "nak"      // Not by me, or not now: deliver it again after the delay.
	Progress Verb = "progress" // Still at it.
	Term     Verb = "term"     // Hopeless; never again, and tell.
)

// Answer settles a delivery.
type Answer struct {
	Verb   Verb
	Delay  time.Duration
	Reason string
}

// Receipt settles one delivery. Settling is sent, not awaited.
type Receipt interface {
	Settle(a Answer) error
}

// Source gives work. Next blocks for the first message and gives at most so many; an error ends the loop unless its
// context has ended.
type Source interface {
	Next(ctx context.Context, most int) ([]Delivery, error)
	Stop()
}

// Log takes facts. Once stores the fact if its subject has none yet, else ErrConflict; State does not care.
type Log interface {
	Once(e events.Event) (lease.Pending, error)
	State(e events.Event)
	Live(job, subjob string, body []byte)
}

// States reads how a job stands, from the leader: what the scheduler has saved of it, nil when there is nothing, and whether the log has
// the report of a run.
type States interface {
	State(ctx context.Context, job string) ([]byte, error)
	Reported(ctx context.Context, job, subjob string, run int) (bool, error)
}

// Knowledge has the documents of sessions. Document gives ErrNotFound for one that is gone.
type Knowledge interface {
	Documents(ctx context.Context, session string) ([]events.Ref, error)
	Document(ctx context.Context, session, digest string) ([]byte, error)
}

// Blobs keeps payloads. Get gives ErrNotFound for one that is gone.
type Blobs interface {
	Put(ctx context.Context, job string, data []byte) (events.Ref, error)
	Get(ctx context.Context, job, digest string) ([]byte, error)
}

// Files keeps payloads that need not fit into memory. Fetch gives ErrNotFound for one that is gone; Store gives ErrTooLarge for one
// that can never be stored, and ErrConflict for one that changed while it was read.
type Files interface {
	Fetch(ctx context.Context, job, digest string, w io.Writer) error
	Store(ctx context.Context, job string, file io.ReadSeeker) (events.Ref, error)
}
