package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

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
	// Delete removes a key; a missing one is no error.
	Delete(ctx context.Context, key string) error
}

// Store holds the records of all sessions. It is safe for concurrent use.
type Store struct {
	keys Keys
	list func(ctx context.Context) ([]bus.Entry, error)
	seed maphash.Seed
	// bus is where conversations are read; nil for a store without conversations.
	bus *bus.Bus
	// lines makes writers of one session in this process wait for each other, so that they do not conflict; those of other processes
	// conflict on the revision.
	lines [32]sync.Mutex
}

// NewStore returns a store over a bucket; list returns only the records of sessions.
func NewStore(keys Keys, list func(ctx context.Context) ([]bus.Entry, error)) *Store {
	return &Store{keys: keys, list: list, seed: maphash.MakeSeed()}
}

// OnBus returns the store of a bus, with its conversations.
func OnBus(b *bus.Bus) *Store {
	s := NewStore(b.Sessions(), b.SessionRecords)
	s.bus = b
	return s
}

// Open enters a job into its session, which it creates if there is none, and reports whether the job is new there. For a request
// without a session it does nothing. Errors: events.Faults for a request that may not join, and the bus's.
//
// zone is the time zone that applies in the session: the last one that one of its requests named. Without a session it is the
// request's.
func (b *Store) Open(ctx context.Context, r *events.Request) (entered bool, zone string, err error) {
	if r.Session == "" {
		return false, r.Timezone, nil
	}
	if faults := names(r); len(faults) > 0 {
		return false, "", faults
	}
	now := time.Now().UTC()
	err = b.change(ctx, r.Session, func(record *Record) (bool, error) {
		if len(record.Jobs) == 0 {
			if fault := ofStep(r.Session); fault != nil {
				return false, events.Faults{*fault}
			}
			record.User = r.User
		}
		if !record.mayUse(r.User) {
			return false, events.Faults{{
				Code: events.CodeNotPermitted, Field: "user", Message: fmt.Sprintf("session %.80q belongs to another user", r.Session),
				Hint: "send the job as the user of that session, or begin another session",
			}}
		}
		entered = record.enter(r, now)
		if entered && r.Timezone != "" {
			record.Timezone = r.Timezone
		}
		if zone = r.Timezone; zone == "" {
			zone = record.Timezone
		}
		return entered, nil
	})
	return entered, zone, err
}

// ofStep refuses a new session that has the id of one for a step that is handed off: what is said there is for the user of the step's
// job.
func ofStep(id string) *events.Fault {
	job, subjob, ok := strings.Cut(id, "~")
	if !ok || !events.ValidNewID(job) || !events.ValidToken(subjob) {
		return nil
	}
	return &events.Fault{
		Code: events.CodeConflict, Field: "session", Message: fmt.Sprintf("there is no session %.80q, and only a step of job %s can begin it", id, job),
		Hint: "choose an id without ~ for a new session",
	}
}

// SessionZone returns the time zone that applies in a session; "" if none was named or there is no such session.
func (b *Store) SessionZone(ctx context.Context, id string) (string, error) {
	record, _, err := b.load(ctx, id)
	if err != nil {
		return "", err
	}
	return record.Timezone, nil
}

// names checks the fields that become part of a record.
func names(r *events.Request) events.Faults {
	var faults events.Faults
	for _, given := range []struct{ field, text string }{{"session", r.Session}, {"thread", r.Thread}, {"user", r.User}} {
		if len(given.text) > events.MaxName {
			faults = append(faults, events.Fault{
				Code: events.CodeTooLarge, Field: given.field, Message: fmt.Sprintf("%d bytes, at most %d are kept", len(given.text), events.MaxName), Hint: "use a shorter id",
			})
		}
	}
	return faults
}

// Leave removes a job that Open entered and that was not admitted.
func (b *Store) Leave(ctx context.Context, r *events.Request) error {
	return b.change(ctx, r.Session, func(record *Record) (bool, error) { return record.leave(r.ID), nil })
}

// Note records the change of a job, and of what it handed off.
func (b *Store) Note(ctx context.Context, t *loop.SessionRecord) error {
	for i := range t.Children {
		if err := b.Note(ctx, &t.Children[i]); err != nil {
			return err
		}
	}
	return b.change(ctx, t.Session, func(record *Record) (bool, error) {
		if len(record.Jobs) == 0 {
			record.User, record.Parent = t.User, t.Parent
		}
		return record.note(t), nil
	})
}

// NoteAnswer remembers that a request answers a question, before it does.
func (b *Store) NoteAnswer(ctx context.Context, id string, a Answer) error {
	return b.change(ctx, id, func(record *Record) (bool, error) {
		if record.Answer(a.Message) != nil {
			return false, nil
		}
		record.Answers = append(record.Answers, a)
		record.Answers = record.Answers[max(0, len(record.Answers)-mostAnswers):]
		return true, nil
	})
}

// Rename sets the title of a session permanently.
func (b *Store) Rename(ctx context.Context, id, title string) (*Record, error) {
	var renamed *Record
	err := b.change(ctx, id, func(record *Record) (bool, error) {
		if len(record.Jobs) == 0 {
			return false, absent(id)
		}
		renamed = record
		if record.Title == brief(title, mostTitle) {
			return false, nil
		}
		record.Title, record.Updated = brief(title, mostTitle), time.Now().UTC()
		return true, nil
	})
	return renamed, err
}

// Get returns a session. Errors: a fault if there is none, and the bus's.
func (b *Store) Get(ctx context.Context, id string) (*Record, error) {
	record, revision, err := b.load(ctx, id)
	if err == nil && (revision == 0 || len(record.Jobs) == 0) {
		err = absent(id)
	}
	return record, err
}

// List reads all sessions, the one that changed last first.
func (b *Store) List(ctx context.Context) ([]*Record, error) {
	entries, err := b.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	list := make([]*Record, 0, len(entries))
	for i := range entries {
		record := &Record{}
		if json.Unmarshal(entries[i].Value, record) == nil && len(record.Jobs) > 0 {
			list = append(list, record)
		}
	}
	slices.SortFunc(list, func(a, b *Record) int {
		return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Remove deletes a session's record and those of what its jobs handed off.
func (b *Store) Remove(ctx context.Context, record *Record) error {
	for _, id := range slices.Backward(record.All()) { // The session itself is deleted last, so that a removal can be repeated.
		for _, key := range []string{bus.ContextKey(id), bus.SessionKey(id)} {
			if err := b.keys.Delete(ctx, key); err != nil {
				return fmt.Errorf("delete session %s: %w", id, err)
			}
		}
	}
	return nil
}

func absent(id string) error {
	return &events.Fault{Code: events.CodeNotFound, Field: "id", Message: fmt.Sprintf("there is no session %.80q", id), Hint: "jobgraph sessions list"}
}

func (b *Store) load(ctx context.Context, id string) (*Record, uint64, error) {
	record := &Record{ID: id}
	value, revision, err := b.keys.GetLeader(ctx, bus.SessionKey(id))
	if errors.Is(err, bus.ErrNotFound) {
		return record, revision, nil
	}
	if err != nil {
		return record, 0, fmt.Errorf("load session %s: %w", id, err)
	}
	if json.Unmarshal(value, record) != nil {
		record = &Record{ID: id} // Not one of our records: what matters is in the log.
	}
	return record, revision, nil
}

// change applies f to a record and writes it if f returns true, until its write succeeds.
func (b *Store) change(ctx context.Context, id string, f func(*Record) (bool, error)) error {
	line := &b.lines[maphash.String(b.seed, id)%uint64(len(b.lines))]
	line.Lock()
	defer line.Unlock()
	for {
		record, revision, err := b.load(ctx, id)
		if err != nil {
			return err
		}
		changed, err := f(record)
		if err != nil || !changed {
			return err
		}
		value, err := record.write()
		if err != nil {
			return fmt.Errorf("write session %s: %w", id, err)
		}
		_, err = b.keys.Update(ctx, bus.SessionKey(id), value, revision)
		if err == nil {
			return nil
		}
		if !errors.Is(err, bus.ErrConflict) || ctx.Err() != nil {
			return fmt.Errorf("write session %s: %w", id, err)
		}
	}
}
