package bus

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	defaultBuffer = 512
	// pullBytes bounds what one pull request brings, and what may wait unread before the next one is made; two may be open.
	// No message of ours is as large. mostMessage is the largest message that a server can be made to take.
	pullBytes   = 2 << 20
	mostMessage = 128 << 20
)

// patience is how long a pull request stays open, and how often the server gives a sign of life meanwhile.
type patience struct{ expiry, heartbeat time.Duration }

var (
	// remote is short: a pull request that outlives its server stalls until its heartbeats are missed.
	remote = patience{expiry: 5 * time.Second, heartbeat: 500 * time.Millisecond}
	// embedded is long: a server within the process goes only with the connection, and each sign of life wakes an idle process.
	embedded = patience{expiry: time.Minute, heartbeat: 20 * time.Second}
)

// Subscription is one reader of one consumer. Next belongs to one goroutine; Stop and Drain may be called from any.
//
// It pulls by itself instead of through the SDK, which takes a stored message with an empty body and a status header for
// the server's own word: anybody could stop a service with one publish.
type Subscription struct {
	source
	bus     *Bus
	name    string
	pulls   string // The subject of pull requests, without the consumer.
	inbox   *nats.Subscription
	queue   chan Delivery
	ended   chan struct{} // Closed once, by end.
	once    sync.Once
	kick    chan struct{} // Wakes the goroutine of watch before its tick.
	watched chan struct{} // Closed when the goroutine of watch has ended.
	forget  func()        // Ends the notice of reconnects.

	mu       sync.Mutex // Guards everything below.
	err      error
	draining bool
	pin      string
	open     int // Messages that were asked for and have neither come nor expired.
	wanted   int // On demand, how many Next waits for; 0 outside Next.
	most     int // How many bytes a pull request asks for.
	unread   int // How many bytes wait in queue.
	seen     time.Time
	gone     bool   // The server has no responder for a pull.
	current  string // The name of the consumer, which changes when an ephemeral one is recreated.
	order    uint64 // For an ephemeral consumer, the consumer sequence that comes next.
	last     uint64 // For an ephemeral consumer, the last stream sequence that came.
	lost     bool   // For an ephemeral consumer, that it has to be recreated.
}

// source is what a subscription reads.
type source struct {
	stream, consumer, group string
	buffer                  int
	// demand asks for no more than Next waits for.
	demand bool
	// remake recreates an ephemeral consumer behind a sequence; it is nil for a durable.
	remake func(context.Context, uint64) (string, error)
	// paced is true for a replay at original speed.
	paced bool
}

func (q *Queues) subscribe(from source) (*Subscription, error) {
	if from.buffer <= 0 {
		from.buffer = defaultBuffer
	}
	s := &Subscription{
		bus: q.bus, source: from, name: from.stream + "." + from.consumer, queue: make(chan Delivery, 2*from.buffer),
		ended: make(chan struct{}), kick: make(chan struct{}, 1), watched: make(chan struct{}), current: from.consumer,
		pulls: apiPrefix + "CONSUMER.MSG.NEXT." + from.stream + ".", order: 1, seen: time.Now(), most: pullBytes,
	}
	inbox, err := q.bus.nc.Subscribe(q.bus.nc.NewInbox(), s.take)
	if err == nil {
		err = inbox.SetPendingLimits(-1, -1)
	}
	if err != nil {
		return nil, fmt.Errorf("consume %s: %w", s.name, class(err))
	}
	s.inbox = inbox
	s.forget = q.bus.OnReconnect(s.restart)
	s.pull()
	go s.watch()
	return s, nil
}

// Next blocks for the first delivery and adds what else is there, up to limit, in the order of delivery. Errors: the
// context's own, ErrClosed after Stop, after Drain when nothing is left, and when the connection was closed, ErrNotFound
// when the consumer was deleted.
func (s *Subscription) Next(ctx context.Context, limit int) ([]Delivery, error) {
	select {
	case <-s.ended:
		return s.rest(limit)
	default:
	}
	s.want(limit)
	defer s.want(0)
	select {
	case d := <-s.queue:
		return s.fill(d, limit), nil
	case <-s.ended:
		return s.rest(limit)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// want says how many Next waits for, and asks for them.
func (s *Subscription) want(n int) {
	if !s.demand {
		return
	}
	s.mu.Lock()
	s.wanted = n
	s.mu.Unlock()
	if n > 0 {
		s.pull()
	}
}

func (s *Subscription) fill(first Delivery, limit int) []Delivery {
	list := make([]Delivery, 1, max(1, min(limit, 1+len(s.queue))))
	list[0] = first
	for len(list) < limit && len(s.queue) > 0 { // It has one reader.
		list = append(list, <-s.queue)
	}
	s.taken(list)
	s.more()
	return list
}

// taken counts a list as read: what Next waited for has come.
func (s *Subscription) taken(list []Delivery) {
	bytes := 0
	for i := range list {
		bytes += list[i].msg.Size()
	}
	s.mu.Lock()
	s.unread, s.wanted = s.unread-bytes, 0
	s.mu.Unlock()
}

// more asks for what comes next, unless that is only known when Next is called again.
func (s *Subscription) more() {
	if !s.demand {
		s.pull()
	}
}

// rest hands out what is left after Drain, and then the reason of the end.
func (s *Subscription) rest(limit int) ([]Delivery, error) {
	s.mu.Lock()
	draining, err := s.draining, s.err
	s.mu.Unlock()
	if draining {
		select {
		case d := <-s.queue:
			return s.fill(d, limit), nil
		default:
		}
	}
	return nil, err
}

// Drain stops pulling; Next goes on to give what has arrived and then ErrClosed. What arrives later goes back to the server
// at once. Stop has to follow.
func (s *Subscription) Drain() {
	s.mu.Lock()
	s.draining = s.err == nil
	s.mu.Unlock()
	s.end(fmt.Errorf("consumer %s: %w", s.name, ErrClosed))
}

// Stop drops the subscription with all that is unread; the server delivers it again after AckWait. After Drain it first gives
// back what crosses it on the wire.
func (s *Subscription) Stop() {
	s.end(fmt.Errorf("consumer %s: %w", s.name, ErrClosed))
	<-s.watched
	s.mu.Lock()
	draining := s.draining
	s.mu.Unlock()
	if draining {
		s.cross()
	}
	s.mu.Lock()
	s.draining = false
	s.mu.Unlock()
	_ = s.inbox.Unsubscribe() // The connection may be closed, and the inbox with it.
	s.discard()
}

// discard has the server forget an ephemeral consumer now, and not when it has been idle: consumers are counted, and limited.
func (s *Subscription) discard() {
	if s.remake == nil || !s.bus.nc.IsConnected() {
		return
	}
	s.mu.Lock()
	consumer := s.current
	s.mu.Unlock()
	_ = s.bus.nc.Publish(apiPrefix+"CONSUMER.DELETE."+s.stream+"."+consumer, nil) // What is lost ends by itself.
}

// crossBound is how long Stop may wait for what the server had sent before it heard of the end.
const crossBound = time.Second

// cross waits until nothing can come any more.
func (s *Subscription) cross() {
	closed := make(chan struct{})
	s.inbox.SetClosedHandler(func(string) { close(closed) })
	if s.inbox.Drain() != nil {
		return // The connection is closed, and the inbox with it.
	}
	bound := time.NewTimer(crossBound)
	defer bound.Stop()
	select {
	case <-closed:
	case <-bound.C:
	}
}

func (s *Subscription) end(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.mu.Unlock()
	s.once.Do(func() {
		s.forget()
		close(s.ended)
	})
}
