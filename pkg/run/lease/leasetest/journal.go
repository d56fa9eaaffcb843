package leasetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/store"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
)

// ErrAway is what reads and writes fail with while the bus is away.
var ErrAway = errors.New("the bus is away")

// Journal is a lease.Journal of one SubJob, whatever job and SubJob it is asked for. A record is stored when it is appended, and
// answered when its answer is awaited. The zero value is empty.
type Journal struct {
	// Latency is how long an answer to a write takes.
	Latency time.Duration
	// Refuses, when set, says of which records the bus is away.
	Refuses func(events.JournalRecord) bool
	// Answers, when set, gives the answer to a record that was stored, in the place of success.
	Answers func(context.Context, events.JournalRecord) error
	// Stored, when set, is told every record that was appended. The lock is held.
	Stored func(events.JournalRecord)
	// Unread is how many readings fail from now on.
	Unread int
	// Since is from when on the bus has been there, by its clock.
	Since time.Time

	sync.Mutex // Guards the fields, once a loop runs.
	// Entries are the records.
	Entries []run.Entry
}

// Away takes the bus away for a while: nothing is read or stored.
func (j *Journal) Away(d time.Duration) {
	j.Lock()
	defer j.Unlock()
	j.Since = time.Now().Add(d)
}

// IsAway reports whether the bus is away. The lock is held.
func (j *Journal) IsAway() bool { return time.Now().Before(j.Since) }

// Add stores a record of another writer.
func (j *Journal) Add(r events.JournalRecord) {
	j.Lock()
	defer j.Unlock()
	j.add(r)
}

func (j *Journal) add(r events.JournalRecord) {
	j.Entries = append(j.Entries, run.Entry{JournalRecord: r, Seq: uint64(len(j.Entries) + 1), Time: time.Now()})
}

// Clock implements lease.Journal.
func (j *Journal) Clock(context.Context) (now, since time.Time, err error) {
	j.Lock()
	defer j.Unlock()
	if j.IsAway() {
		return now, since, ErrAway
	}
	return time.Now(), j.Since, nil
}

// Read implements lease.Journal.
func (j *Journal) Read(ctx context.Context, _, _ string) ([]run.Entry, error) {
	j.Lock()
	defer j.Unlock()
	if j.IsAway() {
		return nil, ErrAway
	}
	if j.Unread > 0 {
		j.Unread--
		return nil, ErrAway
	}
	return slices.Clone(j.Entries), ctx.Err()
}

// Append implements lease.Journal.
func (j *Journal) Append(_, _ string, r events.JournalRecord, last uint64) lease.Pending {
	j.Lock()
	defer j.Unlock()
	answer := Answer{After: j.Latency}
	switch {
	case j.IsAway() || j.Refuses != nil && j.Refuses(r):
		answer.Err = ErrAway
	case last != uint64(len(j.Entries)):
		answer.Err = store.ErrConflict
	default:
		j.add(r)
		if j.Stored != nil {
			j.Stored(r)
		}
		answer.Seq = last + 1
		if j.Answers != nil {
			answer.then = func(ctx context.Context) error { return j.Answers(ctx, r) }
		}
	}
	return answer
}

// Answer is what a write was answered, after a while.
type Answer struct {
	Seq   uint64
	Err   error
	After time.Duration
	then  func(context.Context) error
}

// Wait implements lease.Pending.
func (a Answer) Wait(ctx context.Context) (uint64, error) {
	err := errors.Join(a.Err, lease.Pause(ctx, a.After))
	if err == nil && a.then != nil {
		err = a.then(ctx)
	}
	return a.Seq, err
}
