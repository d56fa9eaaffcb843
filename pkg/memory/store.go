package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/store"
)

// tries is how often a write is tried while others write the same record.
const tries = 16

// Bucket is a key-value bucket that returns the errors of package store.
type Bucket interface {
	// GetLeader reads a key from the leader; it returns the revision even of a deleted key.
	GetLeader(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Update writes a key if it still has this revision.
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// Remove deletes a key if it still has this revision.
	Remove(ctx context.Context, key string, revision uint64) error
}

// Store keeps records. It is safe for concurrent use, even by several processes.
type Store struct{ bucket Bucket }

// New makes a store in a bucket.
func New(b Bucket) Store { return Store{b} }

// Show reads a record; one that was never written is empty. Errors: those of the bucket.
func (s Store) Show(ctx context.Context, user, expert string) (Record, error) {
	r, _, err := s.read(ctx, user, expert)
	return r, err
}

// Recall returns what an expert remembers of a user, newest first. It returns nothing while memory is switched off for the user, or
// for the user and this expert.
func (s Store) Recall(ctx context.Context, user, expert string) ([]Fact, error) {
	r, off, err := s.open(ctx, user, expert)
	if err != nil || off {
		return nil, err
	}
	slices.Reverse(r.Facts)
	return r.Facts, nil
}

// ErrOff is the error of Remember while memory is switched off.
var ErrOff = errors.New("memory is switched off")

// Remember adds a fact, once per id. It reports whether the fact is new. Errors: ErrOff, *events.Fault for a bad text, and those of
// the bucket.
func (s Store) Remember(ctx context.Context, user, expert string, f Fact) (added bool, err error) {
	if f.Text, err = check(f.Text); err != nil {
		return false, err
	}
	if user == "" || expert == "" || f.ID == "" {
		return false, &events.Fault{Code: events.CodeMissing, Field: "user", Message: "a fact needs a user, an expert and an id"}
	}
	if _, off, err := s.open(ctx, user, expert); err != nil || off {
		return false, errors.Join(err, offError(off))
	}
	err = s.change(ctx, user, expert, func(r *Record) error {
		added = false
		if r.Off {
			return ErrOff
		}
		added = r.add(f)
		return nil
	})
	return added && err == nil, err
}

func offError(off bool) error {
	if off {
		return ErrOff
	}
	return nil
}

// Edit replaces the text of the fact whose id begins with a text. Errors: *events.Fault, and those of the bucket.
func (s Store) Edit(ctx context.Context, user, expert, id string, to Fact) (Fact, error) {
	text, err := check(to.Text)
	if err != nil {
		return Fact{}, err
	}
	var edited Fact
	err = s.change(ctx, user, expert, func(r *Record) error {
		at, err := r.place(id)
		if err != nil {
			return err
		}
		r.Facts[at].Text, r.Facts[at].At = text, to.At
		edited = r.Facts[at]
		return nil
	})
	return edited, err
}

// Forget deletes the fact whose id begins with a text; without an id, the whole record. The switch stays as it is. Errors:
// *events.Fault, and those of the bucket.
func (s Store) Forget(ctx context.Context, user, expert, id string) (forgotten int, err error) {
	err = s.change(ctx, user, expert, func(r *Record) error {
		if id == "" {
			forgotten, r.Facts = len(r.Facts), nil
			return nil
		}
		at, err := r.place(id)
		if err == nil {
			forgotten, r.Facts = 1, slices.Delete(r.Facts, at, at+1)
		}
		return err
	})
	return forgotten, err
}

// Switch turns memory off or on for a user and an expert; without an expert, for all of them. Facts stay until they are forgotten.
func (s Store) Switch(ctx context.Context, user, expert string, off bool) error {
	return s.change(ctx, user, expert, func(r *Record) error {
		r.Off = off
		return nil
	})
}

// open reads a record and whether memory is off for it.
func (s Store) open(ctx context.Context, user, expert string) (Record, bool, error) {
	all, _, err := s.read(ctx, user, "")
	if err != nil || all.Off {
		return Record{}, all.Off, err
	}
	r, _, err := s.read(ctx, user, expert)
	return r, r.Off, err
}

func (s Store) read(ctx context.Context, user, expert string) (Record, uint64, error) {
	r := Record{User: user, Expert: expert}
	value, revision, err := s.bucket.GetLeader(ctx, Key(user, expert))
	if errors.Is(err, store.ErrNotFound) {
		return r, revision, nil
	}
	if err == nil {
		err = json.Unmarshal(value, &r)
	}
	if err != nil {
		return r, 0, fmt.Errorf("read what %s remembers of %s: %w", expert, user, err)
	}
	return r, revision, nil
}

// change writes a record back if a change altered it. An empty record is deleted.
func (s Store) change(ctx context.Context, user, expert string, change func(r *Record) error) error {
	for range tries {
		r, revision, err := s.read(ctx, user, expert)
		if err != nil {
			return err
		}
		before, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if err := change(&r); err != nil {
			return err
		}
		after, err := json.Marshal(r)
		if err != nil || string(before) == string(after) {
			return err
		}
		if r.Off || len(r.Facts) > 0 {
			_, err = s.bucket.Update(ctx, Key(user, expert), after, revision)
		} else {
			err = s.bucket.Remove(ctx, Key(user, expert), revision)
		}
		if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnknown) {
			return err
		}
	}
	return &events.Fault{Code: events.CodeConflict, Field: "user", Message: "others write to the memory of " + user + " at the same time", Hint: "try again"}
}
