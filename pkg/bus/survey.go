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

// Survey is the result of comparing the saved states of all jobs with the log.
type Survey struct {
	// States is the number of jobs with a saved state.
	States int
	// Lost are the jobs whose saved states cover events that the log lacks, sorted by id.
	Lost []LostJob
	// Quarantined are the ids of quarantined jobs, sorted.
	Quarantined []string
	// Unknown are the quarantined jobs whose cause is something that this release does not understand but another may.
	Unknown []string
}

// LostJob is a job with events missing from the log.
type LostJob struct {
	// Job is its id, Seq the sequence that its saved state covers.
	Job string `json:"job_id"`
	Seq uint64 `json:"seq"`
	// Why says what is missing.
	Why string `json:"why"`
}

// mostProbed limits how many running jobs have their request looked up in the log, so that a survey ends.
const mostProbed = 1000

// Survey reads every saved state once and compares its sequence with the end of the log. For running jobs, which are never
// deleted, it also checks that the log has the request. Errors: those of Info and List.
func (s Streams) Survey(ctx context.Context) (*Survey, error) {
	heads := map[string]kept.Head{}
	err := s.bus.State().Each(ctx, func(e Entry) {
		if strings.Contains(e.Key, ".") {
			return // The entry is a chunk of a large state.
		}
		delete(heads, e.Key)
		if h, ok := kept.ReadHead(e.Value); ok && !e.Deleted {
			heads[e.Key] = h
		}
	})
	if err != nil {
		return nil, fmt.Errorf("survey saved states: %w", err)
	}
	log, err := s.Info(ctx, s.bus.names.Log) // Read after the states, so that the log contains at least what they cover.
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

// headless reports whether the log lacks the request of a job whose saved state still exists.
func (s Streams) headless(ctx context.Context, job string) (bool, error) {
	e, err := s.bus.Log().LastOf(ctx, job, events.KindJobRequested)
	if err != nil || e.Seq != 0 {
		return false, err
	}
	value, _, err := s.bus.State().GetLeader(ctx, job)
	if errors.Is(err, ErrNotFound) {
		return false, nil // The job was deleted in the meantime.
	}
	h, ok := kept.ReadHead(value)
	return err == nil && ok && h.InMotion(), err
}

// Text describes what was lost, naming the first jobs; "" if nothing was.
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

// mostNamed limits the jobs named in a text.
const mostNamed = 3
