package semaphore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// Keys is the key-value bucket that holds the records.
type Keys interface {
	// GetLeader reads a key's value and revision from the leader. With bus.ErrNotFound the revision is that of the key's deletion
	// marker, 0 if there is none.
	GetLeader(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Update writes a key at a revision, or returns bus.ErrConflict.
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// Remove deletes a key at a revision, or returns bus.ErrConflict.
	Remove(ctx context.Context, key string, revision uint64) error
}

// Store keeps the records of all keys. It is safe for concurrent use.
type Store struct {
	keys  Keys
	alive func(ctx context.Context, job string) (bool, error)
	// lines makes writers of one key in this process wait for each other, so that they do not conflict; those of other processes
	// conflict on the revision.
	lines [32]sync.Mutex
}

// New returns a store over a bucket; alive reports whether a job still exists.
func New(keys Keys, alive func(ctx context.Context, job string) (bool, error)) *Store {
	return &Store{keys: keys, alive: alive}
}

// OnBus returns the store of a bus, which keeps its records in the bucket of sessions.
func OnBus(b *bus.Bus) *Store {
	return New(b.Sessions(), func(ctx context.Context, job string) (bool, error) {
		_, err := b.Streams().LastOn(ctx, b.Names().Log, b.Names().Event(job, events.KindJobRequested))
		if errors.Is(err, bus.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	})
}

// Claim implements loop.Slots. If a job repeats a claim because it still waits, jobs that no longer exist are removed.
func (b *Store) Claim(ctx context.Context, key string, c *loop.Claim) (loop.Grant, error) {
	h := fnv.New32a()
	h.Write([]byte(key))
	line := &b.lines[h.Sum32()%uint32(len(b.lines))]
	line.Lock()
	defer line.Unlock()
	place := bus.SlotKey(key)
	for {
		value, revision, err := b.keys.GetLeader(ctx, place)
		if err != nil && !errors.Is(err, bus.ErrNotFound) {
			return loop.Grant{}, fmt.Errorf("slots of key %.80q: %w", key, err)
		}
		r := read(value)
		was := r.called()
		if again := r.claim(c); again && len(r.grant(c, was).Held) < len(c.Runs) {
			if err := b.bury(ctx, r, c); err != nil {
				return loop.Grant{}, fmt.Errorf("jobs with slots of key %.80q: %w", key, err)
			}
		}
		err = b.write(ctx, place, r, value, revision)
		switch {
		case err == nil:
			return r.grant(c, was), nil
		case !errors.Is(err, bus.ErrConflict) || ctx.Err() != nil:
			return loop.Grant{}, fmt.Errorf("slots of key %.80q: %w", key, err)
		}
	}
}

// bury removes jobs that hold slots but no longer exist: they were deleted, so their end will never be reported.
func (b *Store) bury(ctx context.Context, r *record, c *loop.Claim) error {
	var dead []string
	for _, e := range r.Jobs {
		if len(e.Held) == 0 || e.Job == c.Job {
			continue
		}
		alive, err := b.alive(ctx, e.Job)
		if err != nil {
			return err
		}
		if !alive {
			dead = append(dead, e.Job)
		}
	}
	for _, job := range dead {
		r.drop(job)
	}
	if len(dead) > 0 {
		r.claim(c) // The freed space and slots may serve more runs of this job.
	}
	return nil
}

// write stores a changed record; an empty one is deleted.
func (b *Store) write(ctx context.Context, place string, r *record, was []byte, revision uint64) error {
	if len(r.Jobs) == 0 {
		if was == nil {
			return nil
		}
		return b.keys.Remove(ctx, place, revision)
	}
	value, err := r.write()
	if err != nil || bytes.Equal(value, was) {
		return err
	}
	_, err = b.keys.Update(ctx, place, value, revision)
	return err
}
