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
	// pullBytes limits the bytes of one pull request, and the unread bytes up to which the next one is made; two may be
	// open. None of our messages is that large. mostMessage is the largest message that a server can be configured to
	// accept.
	pullBytes   = 2 << 20
	mostMessage = 128 << 20
)

// patience is how long a pull request stays open, and the interval of the server's heartbeats during that time.
type patience struct{ expiry, heartbeat time.Duration }

var (
	// remote is short: a pull request that outlives its server stalls until its heartbeats are missed.
	remote = patience{expiry: 5 * time.Second, heartbeat: 500 * time.Millisecond}
	// embedded is long: a server in the same process goes away only with the connection, and each heartbeat wakes an idle
	// process.
	embedded = patience{expiry: time.Minute, heartbeat: 20 * time.Second}
)

// Subscription is one reader of one consumer. Next belongs to one goroutine; Stop and Drain may be called from any.
//
// It sends its own pull requests instead of using the SDK's, which mistakes a stored message with an empty body and a
// status header for a status of the server: any client could stop a service with one such publish.
type Subscription struct {
	source
	bus     *Bus
	name    string
	pulls   string // The subject of pull requests, without the consumer; "" if it polls.
	inbox   *nats.Subscription
	queue   chan Delivery
	ended   chan struct{} // Closed once, by end.
	once    sync.Once
	kick    chan struct{} // Wakes the goroutine of watch before its tick.
	watched chan struct{} // Closed when the goroutine of watch has ended.
	forget  func()        // Unregisters the reconnect callback.

	mu       sync.Mutex // Guards everything below.
	err      error
	draining bool
	pin      string
	open     int // Messages that were requested and have neither arrived nor expired.
	wanted   int // On demand, how many messages Next waits for; 0 outside Next.
	most     int // The byte limit of a pull request.
	unread   int // The number of bytes in queue.
	seen     time.Time
	gone     bool   // The server has no responder for a pull request.
	current  string // The consumer's name, which changes when an ephemeral one is recreated.
	order    uint64 // For an ephemeral consumer, the next expected consumer sequence.
	last     uint64 // For an ephemeral consumer, the last received stream sequence.
	lost     bool   // For an ephemeral consumer, that it has to be recreated.
}

// source describes what a subscription reads.
type source struct {
	stream, consumer, group string
	buffer                  int
	// demand requests no more than Next waits for.
	demand bool
	// remake recreates an ephemeral consumer after a sequence; nil for a durable one.
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

// Next blocks for the first delivery and adds further available ones, up to limit, in the order of delivery. Errors: the
// context's; ErrClosed after Stop, after Drain when nothing is left, and when the connection was closed; ErrNotFound if the
// consumer was deleted.
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

// want sets how many messages Next waits for, and requests them.
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
	for len(list) < limit && len(s.queue) > 0 { // There is only one reader.
		list = append(list, <-s.queue)
	}
	s.taken(list)
	s.more()
	return list
}

// taken counts a list as read; Next waits no longer.
func (s *Subscription) taken(list []Delivery) {
	bytes := 0
	for i := range list {
		bytes += list[i].msg.Size()
	}
	s.mu.Lock()
	s.unread, s.wanted = s.unread-bytes, 0
	s.mu.Unlock()
}

// more requests further messages, unless the demand is unknown until the next call of Next.
func (s *Subscription) more() {
	if !s.demand {
		s.pull()
	}
}

// rest returns what is left after Drain, then the reason of the end.
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

// Drain stops pulling. Next still returns what has arrived, then ErrClosed. Messages that arrive later go back to the
// server at once. The caller must still call Stop.
func (s *Subscription) Drain() {
	s.mu.Lock()
	s.draining = s.err == nil
	s.mu.Unlock()
	s.end(fmt.Errorf("consumer %s: %w", s.name, ErrClosed))
}

// Stop ends the subscription and drops unread messages; the server delivers them again after AckWait. After Drain, it first
// returns messages that are still on their way.
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
	if s.inbox != nil {
		_ = s.inbox.Unsubscribe() // The connection may be closed already.
	}
	s.discard()
}

// discard deletes an ephemeral consumer at once instead of waiting for its idle timeout: the number of consumers is
// limited.
func (s *Subscription) discard() {
	if s.remake == nil || !s.bus.nc.IsConnected() {
		return
	}
	s.mu.Lock()
	consumer := s.current
	s.mu.Unlock()
	_ = s.bus.nc.Publish(apiPrefix+"CONSUMER.DELETE."+s.stream+"."+consumer, nil) // If the request is lost, the consumer ends by its idle timeout.
}

// crossBound limits how long Stop waits for messages that the server sent before it learned of the end.
const crossBound = time.Second

// cross waits until no message can arrive any more.
func (s *Subscription) cross() {
	if s.inbox == nil {
		return // It polls: nothing is on its way.
	}
	closed := make(chan struct{})
	s.inbox.SetClosedHandler(func(string) { close(closed) })
	if s.inbox.Drain() != nil {
		return // The connection is closed.
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
