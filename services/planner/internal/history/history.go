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

// Bounds of what is read: mostTurns jobs, the first mostEvents events and mostSteps steps of each, and payloads up to
// mostPayload bytes.
const (
	mostTurns   = 20
	mostEvents  = 2000
	mostSteps   = 20
	mostPayload = 1 << 20
)

// Log is where jobs are told.
type Log interface {
	// EventsOf gives a job's events behind a sequence, in order.
	EventsOf(ctx context.Context, job string, after uint64) iter.Seq2[events.Event, error]
	// LastOn gives the last message on a subject, or bus.ErrNotFound.
	LastOn(ctx context.Context, stream, subject string) (bus.Stored, error)
	// GetBlob gives a payload, or bus.ErrNotFound.
	GetBlob(ctx context.Context, job, digest string) ([]byte, error)
}

// History reads sessions of one bus. It is safe for concurrent use.
type History struct {
	names events.Names
	log   Log
	// record reads a session's record from the leader, or gives bus.ErrNotFound.
	record func(ctx context.Context, key string) ([]byte, uint64, error)
}

// New makes it over a log and a reader of the records of sessions, which gives bus.ErrNotFound for one that is not there.
func New(names events.Names, log Log, record func(ctx context.Context, key string) ([]byte, uint64, error)) *History {
	return &History{names: names, log: log, record: record}
}

// OnBus makes it over a connection.
func OnBus(b *bus.Bus) *History {
	return New(b.Names(), onBus{b.Log(), b.Streams(), b.Blobs()}, b.Sessions().GetLeader)
}

// onBus joins the parts of a bus that a Log reads.
type onBus struct {
	*bus.Log
	streams bus.Streams
	blobs   bus.Blobs
}

// LastOn gives the last message on a subject.
func (b onBus) LastOn(ctx context.Context, stream, subject string) (bus.Stored, error) {
	return b.streams.LastOn(ctx, stream, subject)
}

// GetBlob gives a payload.
func (b onBus) GetBlob(ctx context.Context, job, digest string) ([]byte, error) {
	return b.blobs.Get(ctx, job, digest)
}

// Before gives the turns of a session before a job, oldest first: the latest ones, at most so many bytes of them. A job that
// is no more, or of another session, is no turn; one that goes on has no answer. Errors are the bus's.
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

// jobs lists the jobs of a session before one of them, in the order in which they came.
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
		return nil, nil // Nothing of ours.
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

// turn reads one job; nil when there is none of this session.
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

// ending looks for the end of a job whose log is too long to be read.
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

// payloads reads what went by reference, and leaves out what is too large, or gone.
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
	for _, step := range t.Steps {
		n += len(step)
	}
	return n
}
