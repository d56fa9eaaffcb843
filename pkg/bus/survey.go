package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/kept"
)

// Survey is what the saved states of all jobs say about the log, and about themselves.
type Survey struct {
	// States is how many jobs have one.
	States int
	// Lost are the jobs of which the log lacks what their saved states have seen, by id.
	Lost []LostJob
	// Quarantined are the ids of the jobs that the scheduler leaves alone, sorted.
	Quarantined []string
	// Unknown are those of them of which it did not understand something that another release may.
	Unknown []string
}

// LostJob is a job of which the log lacks something.
type LostJob struct {
	// Job is its id, Seq the sequence with which its saved state ends.
	Job string `json:"job_id"`
	Seq uint64 `json:"seq"`
	// Why says what is missing.
	Why string `json:"why"`
}

// mostProbed bounds the jobs in motion whose requests are looked for in the log, so that a survey ends.
const mostProbed = 1000

// Survey reads every saved state once, and holds its sequence against the end of the log; of jobs in motion, which are not deleted, the
// log must have the request, too. Errors: those of Info and List.
func (s Streams) Survey(ctx context.Context) (*Survey, error) {
	heads := map[string]kept.Head{}
	err := s.bus.State().Each(ctx, func(e Entry) {
		if strings.Contains(e.Key, ".") {
			return // A part of a large state.
		}
		delete(heads, e.Key)
		if h, ok := kept.ReadHead(e.Value); ok && !e.Deleted {
			heads[e.Key] = h
		}
	})
	if err != nil {
		return nil, fmt.Errorf("survey saved states: %w", err)
	}
	log, err := s.Info(ctx, s.bus.names.Log) // Behind the states: the log has at least what they had seen.
	if err != nil {
		return nil, fmt.Errorf("survey saved states: %w", err)
	}
	found := &Survey{States: len(heads), Lost: []LostJob{}, Quarantined: []string{}, Unknown: []string{}}
	probed := 0
	for _, job := range slices.Sorted(maps.Keys(heads)) {
		h := heads[job]
		if h.Quarantined != nil {
			found.Quarantined = append(found.Quarantined, job)
			if h.Quarantined.Code == events.CodeMustUnderstand {
				found.Unknown = append(found.Unknown, job)
			}
		}
		switch {
		case h.Seq > log.LastSeq:
			found.Lost = append(found.Lost, LostJob{job, h.Seq, fmt.Sprintf("the log ends at sequence %d, its saved state has seen %d", log.LastSeq, h.Seq)})
		case h.InMotion() && probed < mostProbed:
			probed++
			lost, err := s.headless(ctx, job)
			if err != nil {
				return nil, fmt.Errorf("survey saved states: %w", err)
			}
			if lost {
				found.Lost = append(found.Lost, LostJob{job, h.Seq, fmt.Sprintf("the log does not have its request, event %d by its saved state", h.RequestSeq)})
			}
		}
	}
	return found, nil
}

// headless reports whether the log has no request of a job whose saved state is still there.
func (s Streams) headless(ctx context.Context, job string) (bool, error) {
	e, err := s.bus.Log().LastOf(ctx, job, events.KindJobRequested)
	if err != nil || e.Seq != 0 {
		return false, err
	}
	value, _, err := s.bus.State().GetLeader(ctx, job)
	if errors.Is(err, ErrNotFound) {
		return false, nil // It was deleted since.
	}
	h, ok := kept.ReadHead(value)
	return err == nil && ok && h.InMotion(), err
}

// Text says to people what was lost, the first jobs by name; "" when nothing was.
func (s *Survey) Text() string {
	if len(s.Lost) == 0 {
		return ""
	}
	list := make([]string, 0, mostNamed+1)
	for i := range s.Lost {
		if i == mostNamed {
			list = append(list, fmt.Sprintf("and %d more", len(s.Lost)-i))
			break
		}
		list = append(list, s.Lost[i].Job+": "+s.Lost[i].Why)
	}
	return fmt.Sprintf("the log lacks what the saved states of %d of %d jobs have seen: %s", len(s.Lost), s.States, strings.Join(list, "; "))
}

// mostNamed is how many jobs a text names.
const mostNamed = 3
