package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events/store"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/kept"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// Keys is the key-value bucket that holds the states.
type Keys interface {
	// GetLeader reads a key's value and revision from the leader. With bus.ErrNotFound the revision is that of the key's deletion
	// marker, 0 if there is none.
	GetLeader(ctx context.Context, key string) (value []byte, revision uint64, err error)
	// Put writes a key unconditionally; a ttl of 0 keeps it for ever.
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) (revision uint64, err error)
	// Update writes a key at a revision, or returns bus.ErrConflict.
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
}

// Log is the log from which states are folded.
type Log interface {
	// Identity distinguishes streams of the same name.
	Identity(ctx context.Context) (string, error)
	// EventAt returns the event with a sequence, read from the leader, or bus.ErrNotFound.
	EventAt(ctx context.Context, seq uint64) (events.Event, error)
}

// Store keeps the saved states of jobs in a bucket. It is safe for concurrent use.
type Store struct {
	keys Keys
	log  Log

	mu       sync.Mutex // Guards identity.
	identity string
}

// New makes the store.
func New(keys Keys, log Log) *Store { return &Store{keys: keys, log: log} }

// Refresh discards what is known of the log: after a reconnect it may be another stream.
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

// Load returns the saved state if it can be trusted, and in any case the revision that the next Save must name.
func (s *Store) Load(ctx context.Context, job string) (loop.Saved, error) {
	value, revision, err := s.keys.GetLeader(ctx, job)
	if errors.Is(err, bus.ErrNotFound) {
		return loop.Saved{Revision: revision}, nil
	}
	if err != nil {
		return loop.Saved{}, fmt.Errorf("load state of %s: %w", job, err)
	}
	none := loop.Saved{Revision: revision}
	h := kept.Read(value)
	if h == nil {
		none.Refused = "it is torn, or no scheduler has written it"
		return none, nil
	}
	stream, err := s.stream(ctx)
	if err != nil || stream != h.Stream {
		return none, err
	}
	state := kept.Bare(value)
	if h.Chunks != nil {
		if state, err = s.join(ctx, job, h); err != nil || state == nil {
			return none, err
		}
	}
	verdict := h.Check(state)
	if verdict == kept.Unsigned && marked(state) {
		return none, nil
	}
	if verdict == kept.Damaged {
		none.Refused = "it does not match its digest"
		return none, nil
	}
	if none.Refused, err = s.misfit(ctx, job, state); err != nil || none.Refused != "" {
		return none, err
	}
	return loop.Saved{State: state, Revision: revision, Unsigned: verdict == kept.Unsigned}, nil
}

// marked reports whether there is only the mark of a quarantine and no state.
func marked(state []byte) bool {
	var s struct {
		Fold int `json:"fold"`
	}
	return json.Unmarshal(state, &s) == nil && s.Fold == 0
}

// misfit says why the log does not contain the event with which the state ends; empty if it does.
func (s *Store) misfit(ctx context.Context, job string, state []byte) (string, error) {
	var end struct {
		Seq     uint64 `json:"seq"`
		EventID string `json:"event_id"`
	}
	if json.Unmarshal(state, &end) != nil || end.Seq == 0 {
		return "it names no event with which it ends", nil
	}
	e, err := s.log.EventAt(ctx, end.Seq)
	if errors.Is(err, bus.ErrNotFound) {
		return fmt.Sprintf("the log does not have event %d, with which it ends", end.Seq), nil
	}
	if err != nil {
		return "", fmt.Errorf("hold state of %s against the log: %w", job, err)
	}
	if e.Job != job || e.ID != end.EventID {
		return fmt.Sprintf("event %d of the log is not the one with which it ends", end.Seq), nil
	}
	return "", nil
}

// Save replaces the state that has a revision. A fault marks the job as quarantined; without a state only the mark is stored.
func (s *Store) Save(ctx context.Context, job string, saved loop.Saved, fault *events.Fault) (uint64, error) {
	stream, err := s.stream(ctx)
	if err != nil {
		return 0, err
	}
	h := kept.Header{Stream: stream}
	state := saved.State
	if state != nil {
		h.Digest = kept.Digest(state)
	} else {
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
	value, err := kept.Compose(h, fault, state)
	if err != nil {
		return 0, fmt.Errorf("save state of %s: %w", job, err)
	}
	revision, err := s.keys.Update(ctx, job, value, saved.Revision)
	if errors.Is(err, bus.ErrConflict) {
		err = fmt.Errorf("%w: %w", store.ErrConflict, err)
	}
	if err != nil {
		return 0, fmt.Errorf("save state of %s: %w", job, err)
	}
	return revision, nil
}
