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

// ErrAway is the error of reads and writes while the bus is away.
var ErrAway = errors.New("the bus is away")

// Journal is a lease.Journal of one SubJob, whatever ids it is asked for. A record is stored when it is appended; its answer
// arrives when it is awaited. The zero value is empty.
type Journal struct {
	// Latency is how long an answer to a write takes.
	Latency time.Duration
	// Refuses, if set, says for which records the bus is away.
	Refuses func(events.JournalRecord) bool
	// Answers, if set, replaces the answer to a record that was stored.
	Answers func(context.Context, events.JournalRecord) error
	// Stored, if set, is called with every record that was appended, while the lock is held.
	Stored func(events.JournalRecord)
	// Unread is how many of the next reads fail.
	Unread int
	// Since is the time since which the bus has been reachable, by its clock.
	Since time.Time

	sync.Mutex // Guards the fields once a loop runs.
	// Entries are the records, oldest first.
	Entries []run.Entry
}

// Away makes the bus unreachable for a while: nothing is read or stored.
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

// In implements lease.Journal: the records of all pools are the same.
func (j *Journal) In(string, []events.Tenure) lease.Journal { return j }

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

// Answer is the delayed answer to a write.
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
