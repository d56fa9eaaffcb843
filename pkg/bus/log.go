package bus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Event decodes a stored message as a fact of the log; ok is false when its subject is none of the log.
func (b *Bus) Event(s Stored) (e events.Event, ok bool) {
	e, ok = events.Decode(b.names, s.Message)
	e.Seq, e.Time = s.Seq, s.Time
	return e, ok
}

// EventsOf gives the events of a job behind a sequence, in order, up to what the leader has when the reading begins. It
// ends with the first error: ErrUnavailable or the context's. Without news it costs one request.
func (b *Bus) EventsOf(ctx context.Context, job string, after uint64) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		for s, err := range b.StoredOf(ctx, job, after) {
			if err != nil {
				yield(events.Event{}, err)
				return
			}
			if e, ok := b.Event(s); ok && !yield(e, nil) {
				return
			}
		}
	}
}

// StoredOf is EventsOf without decoding: the messages as they are in the log, for export.
func (b *Bus) StoredOf(ctx context.Context, job string, after uint64) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		if err := validJob(job); err != nil {
			yield(Stored{}, fmt.Errorf("read events: %w", err))
			return
		}
		if err := b.read(ctx, b.names.Log, b.names.JobEvents(job), after, yield); err != nil {
			yield(Stored{}, fmt.Errorf("read events of job %s: %w", job, err))
		}
	}
}

// read yields what a stream has on a filter behind a sequence, up to what the leader has now.
func (b *Bus) read(ctx context.Context, stream, filter string, after uint64, yield func(Stored, error) bool) error {
	last, err := b.lastOf(ctx, stream, filter)
	if err != nil {
		return err
	}
	return b.each(ctx, stream, filter, after+1, last, func(s Stored) bool { return yield(s, nil) })
}

// EventAt reads one event of the log from the leader. Errors: ErrNotFound, ErrUnavailable.
func (b *Bus) EventAt(ctx context.Context, seq uint64) (events.Event, error) {
	s, err := b.MessageAt(ctx, b.names.Log, seq)
	if err != nil {
		return events.Event{}, err
	}
	e, ok := b.Event(s)
	if !ok {
		return e, fmt.Errorf("read event %d: %w: subject %q is none of the log", seq, ErrNotFound, s.Subject)
	}
	return e, nil
}

// MessageAt reads one message of a stream from the leader. Errors: ErrNotFound, ErrUnavailable.
func (b *Bus) MessageAt(ctx context.Context, stream string, seq uint64) (Stored, error) {
	if seq == 0 {
		return Stored{}, fmt.Errorf("read message 0 of %s: %w", stream, ErrNotFound)
	}
	s, err := b.leader(ctx, stream, query{Seq: seq})
	if err != nil {
		return s, fmt.Errorf("read message %d of %s: %w", seq, stream, err)
	}
	return s, nil
}

// LastOn reads the last message on a subject, which may bear wildcards, from the leader. Errors: ErrNotFound, ErrUnavailable.
func (b *Bus) LastOn(ctx context.Context, stream, subject string) (Stored, error) {
	s, err := b.leader(ctx, stream, query{LastFor: subject})
	if err != nil {
		return s, fmt.Errorf("read last message on %s: %w", subject, err)
	}
	return s, nil
}

// LastOf gives the latest event of a job of some kinds, the zero event when there is none, from the leader. It asks for each
// subject by its name: that a server finds at once, and what fits a pattern by looking through much of the log. Errors:
// ErrUnavailable.
func (b *Bus) LastOf(ctx context.Context, job string, kinds ...events.Kind) (events.Event, error) {
	var latest events.Event
	if err := validJob(job); err != nil {
		return latest, fmt.Errorf("read last event: %w", err)
	}
	for _, kind := range kinds {
		s, err := b.LastOn(ctx, b.names.Log, b.names.Event(job, kind))
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return latest, err
		}
		if e, ok := b.Event(s); ok && e.Seq > latest.Seq {
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
func (b *Bus) Follow(ctx context.Context, filter string, o FollowOptions) (*Subscription, error) {
	s, _, err := b.follow(ctx, b.names.Log, []string{filter}, o, false)
	return s, err
}

// readerIdle is how long the server keeps a consumer that nobody reads.
const readerIdle = time.Minute

// follow reads a stream through a consumer that is made anew when it is lost, and says how many messages there were when
// it began.
func (b *Bus) follow(ctx context.Context, stream string, filters []string, o FollowOptions, headersOnly bool) (*Subscription, uint64, error) {
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
		consumer, err := b.js.CreateOrUpdateConsumer(ctx, stream, cfg)
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
	s, err := b.subscribe(source{stream: stream, consumer: name, buffer: o.Buffer, remake: remake, paced: o.OriginalSpeed})
	return s, first, err
}
