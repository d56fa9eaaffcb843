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

// Log is the log of events: every fact of every job, in the order in which it was stored.
type Log struct {
	bus       *Bus
	lifecycle *JobWatcher
	news      *JobWatcher  // Of all events.
	followed  atomic.Int32 // How many JobSubscriptions there are.
}

// Event decodes a stored message as a fact of the log; ok is false when its subject is none of the log.
func (l *Log) Event(s Stored) (e events.Event, ok bool) {
	e, ok = events.Decode(l.bus.names, s.Message)
	e.Seq, e.Time = s.Seq, s.Time
	return e, ok
}

// EventsOf gives the events of a job behind a sequence, in order, up to what the leader has when the reading begins. It
// ends with the first error: ErrUnavailable or the context's. Without news it costs one request.
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

// StoredOf is EventsOf without decoding: the messages as they are in the log, for export.
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

// read yields what a stream has on a filter behind a sequence, up to what the leader has now.
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
		return e, fmt.Errorf("read event %d: %w: subject %q is none of the log", seq, ErrNotFound, s.Subject)
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

// LastOn reads the last message on a subject, which may bear wildcards, from the leader. Errors: ErrNotFound, ErrUnavailable.
func (s Streams) LastOn(ctx context.Context, stream, subject string) (Stored, error) {
	found, err := s.bus.leader(ctx, stream, query{LastFor: subject})
	if err != nil {
		return found, fmt.Errorf("read last message on %s: %w", subject, err)
	}
	return found, nil
}

// LastOf gives the latest event of a job of some kinds, the zero event when there is none, from the leader. It asks for each
// subject by its name: that a server finds at once, and what fits a pattern by looking through much of the log. Errors:
// ErrUnavailable.
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

// FollowOptions say how a log is followed.
type FollowOptions struct {
	// StartSeq is the first sequence of interest, 0 for the first there is.
	StartSeq uint64
	// OriginalSpeed delivers with the pauses that lay between the messages when they were stored.
	OriginalSpeed bool
	// Buffer bounds the messages that wait unread; 512 when 0.
	Buffer int
}

// Follow reads a subject filter of the log from a sequence on, in order, without gaps and without end, for one reader who
// settles nothing.
func (l *Log) Follow(ctx context.Context, filter string, o FollowOptions) (*Subscription, error) {
	s, _, err := l.follow(ctx, l.bus.names.Log, []string{filter}, o, false)
	return s, err
}

// readerIdle is how long the server keeps an unread consumer.
const readerIdle = time.Minute

// follow reads a stream through a consumer that is recreated when it is lost, and says how many messages there were when
// it began.
func (l *Log) follow(ctx context.Context, stream string, filters []string, o FollowOptions, headersOnly bool) (*Subscription, uint64, error) {
	there := uint64(0)
	remake := func(ctx context.Context, last uint64) (string, error) {
		cfg := jetstream.ConsumerConfig{
			AckPolicy: jetstream.AckNonePolicy, HeadersOnly: headersOnly, MemoryStorage: true,
			Replicas: 1, InactiveThreshold: readerIdle,
		}
		if cfg.FilterSubjects = filters; len(filters) == 1 {
			cfg.FilterSubject, cfg.FilterSubjects = filters[0], nil // So it stands in the request's subject, and can be permitted by it.
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
	if err != nil {
		return nil, 0, fmt.Errorf("follow %s: %w", strings.Join(filters, ", "), err)
	}
	first := there
	s, err := l.bus.Queues().subscribe(source{stream: stream, consumer: name, buffer: o.Buffer, remake: remake, paced: o.OriginalSpeed})
	return s, first, err
}
