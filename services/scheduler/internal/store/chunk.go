package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/kept"
)

// mostInOne is the largest state in a single value, in bytes; chunkSize is the size of a chunk of a larger one.
const (
	mostInOne = events.MaxMessage - 8<<10
	chunkSize = 384 << 10
)

func chunkKey(job string, n int) string { return job + "." + strconv.Itoa(n) }

// split writes the chunks and returns their revisions. The header that lists them is written last: until then the old header names
// revisions that no longer exist, which reads as no state at all.
func (s *Store) split(ctx context.Context, job string, state []byte) ([]uint64, error) {
	var revisions []uint64
	for start := 0; start < len(state); start += chunkSize {
		piece := state[start:min(start+chunkSize, len(state))]
		revision, err := s.keys.Put(ctx, chunkKey(job, len(revisions)), piece, 0)
		if err != nil {
			return nil, err
		}
		revisions = append(revisions, revision)
	}
	return revisions, nil
}

// join reads the chunks; nil when one of them is not the one that the header lists.
func (s *Store) join(ctx context.Context, job string, h *kept.Header) ([]byte, error) {
	state := make([]byte, 0, h.Size)
	for n, want := range h.Chunks {
		piece, revision, err := s.keys.GetLeader(ctx, chunkKey(job, n))
		if errors.Is(err, bus.ErrNotFound) || err == nil && revision != want {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		state = append(state, piece...)
	}
	if len(state) != h.Size {
		return nil, nil
	}
	return state, nil
}

// summary is a state without its list of SubJobs, which is the last field and nearly all of its size.
func summary(job string, state []byte) []byte {
	if before, _, found := bytes.Cut(state, []byte(`,"subjobs":[`)); found {
		head := append(bytes.Clone(before), '}')
		if json.Valid(head) {
			return head
		}
	}
	return []byte(`{"id":"` + job + `"}`)
}
