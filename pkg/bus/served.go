package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// served are the pools that have a consumer. A server removes a message of a work queue in which no consumer is interested as soon as any
// consumer settles its sequence, and the subject of a settlement restricts only the consumer: every runner could remove the work of a pool
// that no runner has ever read. So where signatures count, a process makes sure that a pool has a consumer before it publishes the first
// work of the pool, and again after a reconnect. It is safe for concurrent use.
type served struct {
	queues *Queues
	prefix string // The first part of the subjects of work.
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup // The lookups in progress.

	mu     sync.Mutex // Guards the fields below.
	known  map[string]bool
	held   map[string][]heldWork // The work of pools that are being looked up.
	closed bool
}

// heldWork is work that waits for the consumer of its pool.
type heldWork struct {
	waiting *waiting
	message events.Message
	expect  Expect
}

func newServed(q *Queues) *served {
	s := &served{queues: q, prefix: q.bus.names.Prefix() + ".work.", known: map[string]bool{}, held: map[string][]heldWork{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// pool returns the pool of a message that needs a consumer; ok is false for everything but work, and where no signatures count.
func (s *served) pool(subject string) (pool string, ok bool) {
	rest, ok := strings.CutPrefix(subject, s.prefix)
	if !ok || !s.queues.bus.Signed() {
		return "", false
	}
	pool, _, _ = strings.Cut(rest, ".")
	return pool, true
}

// send sends work of a pool, after a lookup if it is the first. The work of a pool is sent in the order of the calls.
func (s *served) send(pool string, m events.Message, e Expect) Ack {
	s.mu.Lock()
	if s.known[pool] || s.closed {
		s.mu.Unlock()
		return s.queues.bus.pub.send(m, e)
	}
	defer s.mu.Unlock()
	list, looking := s.held[pool]
	w := s.queues.bus.pub.hold(m, e)
	s.held[pool] = append(list, heldWork{w, m, e})
	if !looking {
		s.all.Go(func() { s.open(pool) }) // Ends within readTimeout, or with close, which waits for it.
	}
	return Ack{w}
}

// open makes sure that a pool has a consumer, then sends the work that waits for it.
func (s *served) open(pool string) {
	ctx, cancel := bounded(s.ctx)
	defer cancel()
	err := s.queues.exist(ctx, pool)
	if s.ctx.Err() != nil {
		err = fmt.Errorf("%w: connection", ErrClosed)
	}
	for list := s.next(pool, err == nil); list != nil; list = s.next(pool, err == nil) {
		for _, h := range list {
			if p := s.queues.bus.pub; err != nil {
				p.forgo(h.waiting, err)
			} else {
				p.transmit(h.waiting, h.message, h.expect)
			}
		}
	}
}

// next returns the work of a pool that came while its consumer was looked up. Once it returns none, the lookup is over.
func (s *served) next(pool string, exists bool) []heldWork {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.held[pool]
	if s.held[pool] = nil; list == nil {
		delete(s.held, pool)
		s.known[pool] = exists
	}
	return list
}

// forget makes each pool be looked up again: the server may be another one, or have lost what it had.
func (s *served) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.known)
}

// close ends the lookups under way.
func (s *served) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.all.Wait()
}

// exist makes sure that a pool has a consumer, and changes none that exists. A process that may not create it, and one without streams,
// continues without it. Errors: ErrRefused, ErrUnavailable, ErrFull.
func (q *Queues) exist(ctx context.Context, pool string) error {
	c := q.ForeignConsumer(pool)
	_, err := q.bus.js.Consumer(ctx, c.Stream, c.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		_, err = q.bus.js.CreateConsumer(ctx, c.Stream, c.config(0))
	}
	if errors.Is(err, jetstream.ErrConsumerExists) {
		return nil // A runner has just made it.
	}
	if err = class(err); err == nil || errors.Is(err, ErrNotPermitted) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return fmt.Errorf("make the consumer of pool %s: %w", pool, err)
}
