package loop

import (
	"context"
	"errors"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// What adapters say of the bus. Any other error means: not now, or nobody knows; try again.
var (
	// ErrConflict means that the fact was stated before.
	ErrConflict = errors.New("stated before")
	// ErrTooLarge means that the message can never be stored.
	ErrTooLarge = errors.New("too large")
	// ErrNotFound means that what is read does not exist.
	ErrNotFound = errors.New("not found")
)

// Delivery is one work message in hand.
type Delivery struct {
	events.Message
	// Count says how often it was delivered, 1 for the first time.
	Count int
	// Receipt settles it.
	Receipt Receipt
}

// Receipt settles one delivery: done, not now, or hopeless. Settling is sent, not awaited.
type Receipt interface {
	Ack() error
	Nak(delay time.Duration) error
	Term(reason string) error
}

// Source gives work: Next blocks for one message. Drain ends it and gives what is unread back to others; Stop just ends it.
type Source interface {
	Next(ctx context.Context) (Delivery, error)
	Drain(ctx context.Context)
	Stop()
}

// Log takes facts. State stores one if its subject has none yet, else ErrConflict.
type Log interface {
	State(ctx context.Context, e events.Event) error
}

// Blobs keeps payloads within a job. Get gives ErrNotFound for one that is gone.
type Blobs interface {
	Put(ctx context.Context, job string, data []byte) (events.Ref, error)
	Get(ctx context.Context, job, digest string) ([]byte, error)
}

// Catalog gives the cards there are, and a channel that closes when they change.
type Catalog interface {
	Cards() (cards []events.Card, changed <-chan struct{})
}

// Meter counts what was decided.
type Meter interface {
	Decided(o Outcome)
}

// Outcome is what became of one delivery, for the metrics.
type Outcome struct {
	// Kind is the fact that was stated, empty for a message that is no planning work.
	Kind events.Kind
	// Run is the planning run, Steps the SubJobs of its graph.
	Run, Steps int
	// EnoughContext is what the plan says of itself, if it does.
	EnoughContext *bool
	// Faults are those of a rejection.
	Faults events.Faults
	// Took is the time from taking the work to stating the fact.
	Took time.Duration
	// Repeated is true when the fact had been stated before.
	Repeated bool
}
