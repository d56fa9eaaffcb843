package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/services/planner/internal/planning"
)

// Limits of one read: mostTurns jobs; of each job the first mostEvents events and mostSteps steps; payloads up to
// mostPayload bytes.
const (
	mostTurns   = 20
	mostEvents  = 2000
	mostSteps   = 20
	mostPayload = 1 << 20
)

// Log reads the logs of jobs.
type Log interface {
	// EventsOf returns a job's events after a sequence, in order.
	EventsOf(ctx context.Context, job string, after uint64) iter.Seq2[events.Event, error]
	// LastOn returns the last message on a subject, or bus.ErrNotFound.
	LastOn(ctx context.Context, stream, subject string) (bus.Stored, error)
	// GetBlob returns a payload, or bus.ErrNotFound.
	GetBlob(ctx context.Context, job, digest string) ([]byte, error)
}

// History reads sessions of one bus. It is safe for concurrent use.
type History struct {
	names events.Names
	log   Log
	// record reads a session's record from the leader of the bucket; the error is bus.ErrNotFound if there is none.
	record func(ctx context.Context, key string) ([]byte, uint64, error)
}

// New returns a History that reads jobs from log and session records by record. record returns bus.ErrNotFound if a session
// has none.
func New(names events.Names, log Log, record func(ctx context.Context, key string) ([]byte, uint64, error)) *History {
	return &History{names: names, log: log, record: record}
}

// OnBus returns a History that reads from a bus.
func OnBus(b *bus.Bus) *History {
	return New(b.Names(), onBus{b.Log(), b.Streams(), b.Blobs()}, b.Sessions().GetLeader)
}

// onBus implements Log with the parts of a bus.
type onBus struct {
	*bus.Log
	streams bus.Streams
	blobs   bus.Blobs
}

// LastOn implements Log.
func (b onBus) LastOn(ctx context.Context, stream, subject string) (bus.Stored, error) {
	return b.streams.LastOn(ctx, stream, subject)
}

// GetBlob implements Log.
func (b onBus) GetBlob(ctx context.Context, job, digest string) ([]byte, error) {
	return b.blobs.Get(ctx, job, digest)
}

// Before returns the turns of session id before job, oldest first. If they are longer than most bytes, the oldest are left
// out. Jobs that were deleted or belong to another session are left out; a job that is still running has a turn without an
// answer. Errors are those of the bus.
func (p *History) Before(ctx context.Context, id, job string, most int) ([]planning.Turn, error) {
	jobs, err := p.jobs(ctx, id, job)
	if err != nil {
		return nil, err
	}
	var turns []planning.Turn
	for _, job := range slices.Backward(jobs[max(0, len(jobs)-mostTurns):]) {
		if most <= 0 {
			break
		}
		t, err := p.turn(ctx, id, job, most)
		if err != nil {
			return nil, fmt.Errorf("read job %s of the session: %w", job, err)
		}
		if t == nil {
			continue
		}
		most -= size(t)
		turns = append(turns, *t)
	}
	slices.Reverse(turns)
	return turns, nil
}

// jobs lists the jobs of a session before one of them, in the order of their requests.
func (p *History) jobs(ctx context.Context, id, before string) ([]string, error) {
	value, _, err := p.record(ctx, bus.SessionKey(id))
	if errors.Is(err, bus.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", id, err)
	}
	var kept struct {
		Jobs []struct {
			ID     string `json:"id"`
			SubJob string `json:"subjob"`
		} `json:"jobs"`
	}
	if json.Unmarshal(value, &kept) != nil {
		return nil, nil
	}
	var jobs []string
	for _, line := range kept.Jobs {
		if line.ID == before {
			break
		}
		if line.SubJob == "" && events.ValidToken(line.ID) {
			jobs = append(jobs, line.ID)
		}
	}
	return jobs, nil
}

// turn reads one job. It returns nil if the job does not exist or belongs to another session.
func (p *History) turn(ctx context.Context, id, job string, most int) (*planning.Turn, error) {
	var s story
	n := 0
	payloads := p.payloads(ctx, job)
	for e, err := range p.log.EventsOf(ctx, job, 0) {
		if err != nil {
			return nil, err
		}
		if n++; n > mostEvents {
			break
		}
		if err := joblog.Resolve(&e, payloads); err != nil && !errors.Is(err, joblog.ErrPlan) {
			return nil, err
		}
		s.take(&e)
	}
	if s.request == nil || s.request.Session != id {
		return nil, nil
	}
	if n > mostEvents {
		if err := p.ending(ctx, job, &s); err != nil {
			return nil, err
		}
	}
	var answer json.RawMessage
	if s.end != nil {
		var err error
		if answer, err = joblog.Answer(s.end.Result, s.end.ResultRef, payloads); err != nil {
			return nil, err
		}
	}
	t := s.tell(answer, most)
	return &t, nil
}

// ending finds the end of a job whose log is too long to read completely.
func (p *History) ending(ctx context.Context, job string, s *story) error {
	var last uint64
	for _, kind := range []events.Kind{events.KindJobFinished, events.KindJobFailed, events.KindJobStopped} {
		stored, err := p.log.LastOn(ctx, p.names.Log, p.names.Event(job, kind))
		if errors.Is(err, bus.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		e, ok := events.Decode(p.names, stored.Message)
		if end, is := e.Data.(*events.JobEnded); ok && is && stored.Seq > last {
			s.end, last = end, stored.Seq
		}
	}
	return nil
}

// payloads returns a reader of payloads by reference that skips those that are missing or too large.
func (p *History) payloads(ctx context.Context, job string) joblog.Payloads {
	return func(ref events.Ref) ([]byte, error) {
		if ref.Size > mostPayload {
			return nil, nil
		}
		data, err := p.log.GetBlob(ctx, job, ref.Digest)
		if errors.Is(err, bus.ErrNotFound) {
			return nil, nil
		}
		return data, err
	}
}

func size(t *planning.Turn) int {
	n := len(t.User) + len(t.Answer)
	for _, text := range slices.Concat(t.Steps, t.Asked) {
		n += len(text)
	}
	return n
}
