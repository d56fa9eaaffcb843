package bus

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// pollFirst and pollMost limit the pause between two readings that find nothing.
const (
	pollFirst = 20 * time.Millisecond
	pollMost  = 250 * time.Millisecond
	// pollLeader is every which reading of those that find nothing asks the leader.
	pollLeader = 4
)

// poll does what follow does, for clients that may not create consumers, since a consumer can make the server write stored
// messages to any subject. It keeps reading the stream, so news arrives up to pollMost late.
func (l *Log) poll(ctx context.Context, stream string, filters []string, o FollowOptions) (*Subscription, uint64, error) {
	filter := covering(filters)
	last, err := l.bus.lastOf(ctx, stream, filter)
	if err != nil {
		return nil, 0, fmt.Errorf("follow %s: %w", filter, err)
	}
	buffer := o.Buffer
	if buffer <= 0 {
		buffer = defaultBuffer
	}
	s := &Subscription{
		bus: l.bus, source: source{stream: stream, buffer: buffer}, name: stream, queue: make(chan Delivery, 2*buffer),
		ended: make(chan struct{}), watched: make(chan struct{}), forget: func() {},
	}
	go s.polls(filter, filters, max(o.StartSeq, 1)) // Ends with Stop, or with the bus.
	return s, min(last, 1), nil
}

// covering returns a subject with wildcards that matches all that some filters match.
func covering(filters []string) string {
	if len(filters) == 1 {
		return filters[0]
	}
	var same []string
	for n, token := range strings.Split(filters[0], ".") {
		if slices.ContainsFunc(filters, func(f string) bool { return nthToken(f, n) != token || nthToken(f, n+1) == "" }) {
			break
		}
		same = append(same, token)
	}
	return strings.Join(append(same, ">"), ".")
}

// polls reads from a sequence on until the subscription ends.
func (s *Subscription) polls(filter string, filters []string, from uint64) {
	defer close(s.watched)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	empty := 0 // Readings that have found nothing, since the last one that has.
	for pause := pollFirst; ; {
		var batch []Stored
		next, _, err := s.bus.batch(ctx, s.stream, filter, from, math.MaxUint64, func(m Stored) bool {
			batch = append(batch, m)
			return true
		})
		if empty++; next > from {
			empty = 0
		} else if err == nil && empty%pollLeader == 0 {
			batch, next, err = s.bus.beyond(ctx, s.stream, filter, from)
		}
		if errors.Is(err, ErrNotPermitted) || errors.Is(err, ErrClosed) {
			s.end(fmt.Errorf("follow %s: %w", s.name, err))
			return
		}
		from = max(from, next)
		batch = slices.DeleteFunc(batch, func(m Stored) bool {
			return !slices.ContainsFunc(filters, func(f string) bool { return collide(m.Subject, f) })
		})
		if !s.deliver(batch) {
			return
		}
		if pause = min(2*pause, pollMost); len(batch) > 0 {
			pause = pollFirst
		}
		if !s.rests(pause) {
			return
		}
	}
}

// beyond reads the next message from the leader, and returns where to continue. The header of a message can make a batch look as if it ended
// before that message, and would end every batch there.
func (b *Bus) beyond(ctx context.Context, stream, filter string, from uint64) (list []Stored, next uint64, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	m, err := b.leader(ctx, stream, query{Seq: from, NextFor: filter})
	if errors.Is(err, ErrNotFound) {
		return nil, from, nil
	}
	if err != nil {
		return nil, from, err
	}
	return []Stored{m}, m.Seq + 1, nil
}

// rests waits; it reports whether the subscription continues.
func (s *Subscription) rests(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.bus.closed:
		s.end(fmt.Errorf("follow %s: %w: connection", s.name, ErrClosed))
	case <-s.ended:
	}
	return false
}

// deliver hands a batch on; it reports whether the subscription continues.
func (s *Subscription) deliver(batch []Stored) bool {
	for i, m := range batch {
		s.order++
		d := Delivery{
			bus: s.bus, msg: &nats.Msg{Subject: m.Subject, Header: nats.Header(m.Header), Data: m.Body},
			seq: m.Seq, order: s.order, count: 1, left: uint64(len(batch) - 1 - i), at: m.Time.UnixNano(),
		}
		s.mu.Lock()
		s.unread += d.msg.Size()
		s.mu.Unlock()
		select {
		case s.queue <- d:
		case <-s.ended:
			return false
		}
	}
	return true
}
