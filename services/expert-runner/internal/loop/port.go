package loop

import (
	"context"
	"io"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/bases"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/knowledge"
	"github.com/jobgraph/jobgraph/pkg/memory"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
)

// Source supplies work. Next blocks for the first message and returns at most this many; an error ends the loop unless its context
// has ended.
type Source interface {
	Next(ctx context.Context, most int) ([]queue.Delivery, error)
	Stop()
}

// Log publishes events. Once publishes one if its subject is empty, otherwise it returns store.ErrConflict; Tell publishes without
// waiting; Live passes bytes to the watchers of a SubJob without storing them, on the subject of a pool if pool is not empty.
type Log interface {
	Once(e events.Event) (lease.Pending, error)
	Tell(e events.Event)
	Live(job, subjob, pool string, body []byte)
}

// Items takes the live items of one run without waiting, as live.Run does. Seam says that the run continues where another run broke
// off. End ends the run; with done its items are complete.
type Items interface {
	Show(i item.Item)
	Seam(of int, continues bool)
	End(done bool)
}

// States reads the state of a job from the leader: what the scheduler has saved, nil if nothing, and whether the log has the report
// of a run. A report that names an earlier request than born is about an earlier job with the same id, and does not count.
type States interface {
	State(ctx context.Context, job string) ([]byte, error)
	Reported(ctx context.Context, of events.Address, born uint64) (bool, error)
}

// Contexts stores the ids by which remote agents know sessions.
type Contexts interface {
	// RemoteContext returns the id of a session for an expert, or "".
	RemoteContext(ctx context.Context, session, expert string) (string, error)
	// SetRemoteContext stores the id of a session for an expert; "" removes it.
	SetRemoteContext(ctx context.Context, session, expert, id string) error
}

// Knowledge has the documents of bases of knowledge. Get returns store.ErrNotFound for a missing one.
type Knowledge interface {
	knowledge.Store
	Search(ctx context.Context, bases []bases.Base, query string, most int) (knowledge.Found, error)
}

// Memory stores what experts remember of users, see memory.Store.
type Memory interface {
	Recall(ctx context.Context, user, expert string) ([]memory.Fact, error)
	Remember(ctx context.Context, user, expert string, f memory.Fact) (added bool, err error)
}

// Blobs stores payloads. Get returns store.ErrNotFound for a missing one.
type Blobs interface {
	Put(ctx context.Context, job string, data []byte) (events.Ref, error)
	Get(ctx context.Context, job, digest string) ([]byte, error)
}

// Files stores payloads that may not fit into memory. Fetch returns store.ErrNotFound for a missing one; Store returns
// store.ErrTooLarge for one that can never be stored, and store.ErrConflict for one that changed while it was read.
type Files interface {
	Fetch(ctx context.Context, job, digest string, w io.Writer) error
	Store(ctx context.Context, job string, file io.ReadSeeker) (events.Ref, error)
}
