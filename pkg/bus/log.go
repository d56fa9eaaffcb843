package bus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Log is the log of events: all events of all jobs, in the order in which they were stored.
type Log struct {
	bus       *Bus
	lifecycle *JobWatcher
	news      *JobWatcher  // Announces all events.
	followed  atomic.Int32 // The number of JobSubscriptions.
}

// Event decodes a stored message as an event of the log; ok is false if its subject is not of the log, and for an answer that
// does not count for lack of a signature. A control event that does not count has the fault, as in Delivery.Event.
func (l *Log) Event(s Stored) (e events.Event, ok bool) {
	e, ok = l.bus.event(s.Message, s.Seq, s.Time)
	return e, ok && (e.Kind != events.KindInputClosed || !Unsigned(&e))
}

// EventsOf yields the events of a job after a sequence, in order, up to what the leader has when the reading begins. It
// ends with the first error: ErrUnavailable or the context's. If there are none, it costs one request.
func (l *Log) EventsOf(ctx context.Context, job string, after uint64) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for s, err := range l.StoredOf(ctx, job, after) {
			if err != nil {
				yield(events.Event{}, err)
				return
			}
			if e, ok := l.Event(s); ok && !yield(e, nil) {
				return
			}
		}
	}
}

// StoredOf is like EventsOf, without decoding: it yields the messages as stored, for export.
func (l *Log) StoredOf(ctx context.Context, job string, after uint64) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		if err := validJob(job); err != nil {
			yield(Stored{}, fmt.Errorf("read events: %w", err))
			return
		}
		if err := l.read(ctx, l.bus.names.Log, l.bus.names.JobEvents(job), after, yield); err != nil {
			yield(Stored{}, fmt.Errorf("read events of job %s: %w", job, err))
		}
	}
}

// read yields the messages of a stream that match a filter, after a sequence, up to what the leader has now.
func (l *Log) read(ctx context.Context, stream, filter string, after uint64, yield func(Stored, error) bool) error {
	last, err := l.bus.lastOf(ctx, stream, filter)
	if err != nil {
		return err
	}
	return l.bus.each(ctx, stream, filter, after+1, last, func(s Stored) bool { return yield(s, nil) })
}

// EventAt reads one event of the log from the leader. Errors: ErrNotFound, ErrUnavailable.
func (l *Log) EventAt(ctx context.Context, seq uint64) (events.Event, error) {
	s, err := l.bus.Streams().At(ctx, l.bus.names.Log, seq)
	if err != nil {
		return events.Event{}, err
	}
	e, ok := l.Event(s)
	if !ok {
		return e, fmt.Errorf("read event %d: %w: subject %q does not belong to the log", seq, ErrNotFound, s.Subject)
	}
	return e, nil
}

// At reads one message of a stream from the leader. Errors: ErrNotFound, ErrUnavailable.
func (s Streams) At(ctx context.Context, stream string, seq uint64) (Stored, error) {
	if seq == 0 {
		return Stored{}, fmt.Errorf("read message 0 of %s: %w", stream, ErrNotFound)
	}
	found, err := s.bus.leader(ctx, stream, query{Seq: seq})
	if err != nil {
		return found, fmt.Errorf("read message %d of %s: %w", seq, stream, err)
	}
	return found, nil
}

// LastOn reads the last message on a subject from the leader. The subject may contain wildcards. Errors: ErrNotFound,
// ErrUnavailable.
func (s Streams) LastOn(ctx context.Context, stream, subject string) (Stored, error) {
	found, err := s.bus.leader(ctx, stream, query{LastFor: subject})
	if err != nil {
		return found, fmt.Errorf("read last message on %s: %w", subject, err)
	}
	return found, nil
}

// LastOf returns the latest event of a job among some kinds, or the zero event, from the leader. It makes one request per
// kind: a server finds an exact subject at once, but has to search much of the log for a pattern. Errors: ErrUnavailable.
func (l *Log) LastOf(ctx context.Context, job string, kinds ...events.Kind) (events.Event, error) {
	var latest events.Event
	if err := validJob(job); err != nil {
		return latest, fmt.Errorf("read last event: %w", err)
	}
	for _, kind := range kinds {
		s, err := l.bus.Streams().LastOn(ctx, l.bus.names.Log, l.bus.names.Event(job, kind))
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return latest, err
		}
		if e, ok := l.Event(s); ok && e.Seq > latest.Seq {
			latest = e
		}
	}
	return latest, nil
}

// FollowOptions are the options of Follow.
type FollowOptions struct {
	// StartSeq is the first sequence to deliver, 0 for the first that exists.
	StartSeq uint64
	// OriginalSpeed delivers messages with the pauses that lay between them when they were stored.
	OriginalSpeed bool
	// Buffer limits the unread messages; 0 means 512.
	Buffer int
}

// Follow reads the messages of the log that match a filter, from a sequence on, in order, without gaps and without end, for
// one reader, which settles nothing.
func (l *Log) Follow(ctx context.Context, filter string, o FollowOptions) (*Subscription, error) {
	s, _, err := l.follow(ctx, l.bus.names.Log, []string{filter}, o, false)
	return s, err
}

// readerIdle is how long the server keeps a consumer without a reader.
const readerIdle = time.Minute

// follow reads a stream by a consumer that is recreated when it is lost. It also returns how many messages there were at
// the beginning.
func (l *Log) follow(ctx context.Context, stream string, filters []string, o FollowOptions, headersOnly bool) (*Subscription, uint64, error) {
	there := uint64(0)
	remake := func(ctx context.Context, last uint64) (string, error) {
		cfg := jetstream.ConsumerConfig{
			AckPolicy: jetstream.AckNonePolicy, HeadersOnly: headersOnly, MemoryStorage: true,
			Replicas: 1, InactiveThreshold: readerIdle,
		}
		if cfg.FilterSubjects = filters; len(filters) == 1 {
			cfg.FilterSubject, cfg.FilterSubjects = filters[0], nil // A single filter becomes part of the request's subject, so that permissions can allow it.
		}
		if o.OriginalSpeed {
			cfg.ReplayPolicy = jetstream.ReplayOriginalPolicy
		}
		if start := max(o.StartSeq, last+1); start > 1 {
			cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, start
		}
		consumer, err := l.bus.js.CreateOrUpdateConsumer(ctx, stream, cfg)
		if err != nil {
			return "", class(err)
		}
		there = consumer.CachedInfo().NumPending
		return consumer.CachedInfo().Name, nil
	}
	name, err := remake(ctx, 0)
	if errors.Is(err, ErrNotPermitted) && !o.OriginalSpeed {
		return l.poll(ctx, stream, filters, o)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("follow %s: %w", strings.Join(filters, ", "), err)
	}
	first := there
	s, err := l.bus.Queues().subscribe(source{stream: stream, consumer: name, buffer: o.Buffer, remake: remake, paced: o.OriginalSpeed})
	return s, first, err
}
