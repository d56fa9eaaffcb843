package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// Keys is the bucket.
type Keys interface {
	// GetLeader reads a key's value and revision from the leader. With bus.ErrNotFound the revision is that of the marker.
	GetLeader(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Put writes a key whatever it holds.
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) (revision uint64, err error)
	// Update writes a key that has a revision, or gives bus.ErrConflict.
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

// Log is what a state is the fold of.
type Log interface {
	// Identity tells one stream from another of the same name.
	Identity(ctx context.Context) (string, error)
	// EventAt gives the event with a sequence by the leader, or bus.ErrNotFound.
	EventAt(ctx context.Context, seq uint64) (events.Event, error)
}

// Store keeps states. It is safe for concurrent use.
type Store struct {
	keys Keys
	log  Log

	mu       sync.Mutex // Guards identity.
	identity string
}

// New makes the store.
func New(keys Keys, log Log) *Store { return &Store{keys: keys, log: log} }

// header is the first field of what is kept: what the value is, beside the state itself.
type header struct {
	// Stream is the identity of the log that the state is the fold of.
	Stream string `json:"stream"`
	// Size is the length of the state in bytes, and Chunks the revisions of the keys <job>.0, <job>.1, … that hold it; both
	// are empty for a state that stands in this very value.
	Size   int      `json:"size,omitempty"`
	Chunks []uint64 `json:"chunks,omitempty"`
}

// Saved reports whether a value of the bucket was written by Save.
func Saved(value []byte) bool { return read(value) != nil }

// read gives the header of what is kept, or nil.
func read(value []byte) *header {
	var kept struct {
		Store *header `json:"store"`
	}
	if json.Unmarshal(value, &kept) != nil {
		return nil
	}
	return kept.Store
}

// Refresh forgets what is known of the log: after a reconnect it may be another one.
func (s *Store) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identity = ""
}

func (s *Store) stream(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.identity == "" {
		identity, err := s.log.Identity(ctx)
		if err != nil {
			return "", fmt.Errorf("identify log: %w", err)
		}
		s.identity = identity
	}
	return s.identity, nil
}

// Load gives the kept state if it can be trusted, and in any case the revision that the next Save has to name.
func (s *Store) Load(ctx context.Context, job string) (loop.Saved, error) {
	value, revision, err := s.keys.GetLeader(ctx, job)
	if errors.Is(err, bus.ErrNotFound) {
		return loop.Saved{Revision: revision}, nil
	}
	if err != nil {
		return loop.Saved{}, fmt.Errorf("load state of %s: %w", job, err)
	}
	none := loop.Saved{Revision: revision}
	kept := read(value)
	if kept == nil {
		return none, nil
	}
	stream, err := s.stream(ctx)
	if err != nil || stream != kept.Stream {
		return none, err
	}
	if kept.Chunks != nil {
		if value, err = s.join(ctx, job, kept); err != nil || value == nil {
			return none, err
		}
	}
	if trusted, err := s.trusted(ctx, job, value); err != nil || !trusted {
		return none, err
	}
	return loop.Saved{State: value, Revision: revision}, nil
}

// trusted reports whether the log still has the event that the state ends with.
func (s *Store) trusted(ctx context.Context, job string, state []byte) (bool, error) {
	var end struct {
		Seq     uint64 `json:"seq"`
		EventID string `json:"event_id"`
	}
	if json.Unmarshal(state, &end) != nil || end.Seq == 0 {
		return false, nil
	}
	e, err := s.log.EventAt(ctx, end.Seq)
	if errors.Is(err, bus.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("hold state of %s against the log: %w", job, err)
	}
	return e.Job == job && e.ID == end.EventID, nil
}

// Save replaces the state that has a revision. A fault marks the job as quarantined; without a state the mark stands alone.
func (s *Store) Save(ctx context.Context, job string, saved loop.Saved, fault *events.Fault) (uint64, error) {
	stream, err := s.stream(ctx)
	if err != nil {
		return 0, err
	}
	h := header{Stream: stream}
	state := saved.State
	if state == nil {
		if state, err = json.Marshal(map[string]string{"id": job}); err != nil {
			return 0, err
		}
	}
	if len(state) > mostInOne {
		if h.Chunks, err = s.split(ctx, job, state); err != nil {
			return 0, fmt.Errorf("save state of %s: %w", job, err)
		}
		h.Size = len(state)
		state = summary(job, state)
	}
	value, err := compose(h, fault, state)
	if err != nil {
		return 0, fmt.Errorf("save state of %s: %w", job, err)
	}
	revision, err := s.keys.Update(ctx, job, value, saved.Revision)
	if err != nil {
		return 0, fmt.Errorf("save state of %s: %w", job, err)
	}
	return revision, nil
}

// compose puts the header, and the fault of a quarantined job, in front of the state's own fields.
func compose(h header, fault *events.Fault, state []byte) ([]byte, error) {
	front, err := json.Marshal(struct {
		Store       header        `json:"store"`
		Quarantined *events.Fault `json:"quarantined,omitempty"`
	}{h, fault})
	if err != nil {
		return nil, err
	}
	if len(state) < 3 || state[0] != '{' {
		return nil, errors.New("state is no JSON object")
	}
	value := make([]byte, 0, len(front)+len(state))
	value = append(value, front[:len(front)-1]...)
	value = append(value, ',')
	return append(value, state[1:]...), nil
}
