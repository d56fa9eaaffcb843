package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// pull requests more messages once half of the buffer is free; on demand, once less than half of what Next wants is
// requested.
func (s *Subscription) pull() {
	if s.pulls == "" {
		return // It polls instead of pulling.
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	room := s.buffer
	if s.demand {
		room = min(room, s.wanted)
		if s.unread > 0 {
			return // Next has something to return, and will request what it needs then.
		}
	}
	want := room - s.open - len(s.queue)
	if s.err != nil || s.lost || room == 0 || want < (room+1)/2 || s.unread >= s.most {
		return
	}
	request := append(make([]byte, 0, 128), `{"batch":`...)
	request = strconv.AppendInt(request, int64(want), 10)
	request = append(request, `,"max_bytes":`...)
	request = strconv.AppendInt(request, int64(s.most), 10)
	request = append(request, `,"expires":`...)
	request = strconv.AppendInt(request, int64(s.bus.queues.pulls.expiry), 10)
	request = append(request, `,"idle_heartbeat":`...)
	request = strconv.AppendInt(request, int64(s.bus.queues.pulls.heartbeat), 10)
	if s.group != "" {
		request = append(request, `,"group":"`+s.group+`"`...)
	}
	if s.pin != "" {
		request = append(request, `,"id":"`+s.pin+`"`...)
	}
	request = append(request, '}')
	// A request that cannot be sent now is sent after the reconnect.
	if s.bus.nc.PublishRequest(s.pulls+s.current, s.inbox.Subject, request) == nil {
		s.open += want
	}
}

// take handles everything that arrives in the inbox; the SDK calls it from one goroutine until Stop. Only deliveries of the
// server have a reply subject for acknowledgements, whatever their header says; everything else is a status.
func (s *Subscription) take(m *nats.Msg) {
	d, consumer, ok := newDelivery(s.bus, m)
	if !ok {
		s.status(m)
		return
	}
	if !s.admit(&d, consumer) {
		return
	}
	select {
	case s.queue <- d:
	default:
		// More arrived than was requested, because requests were given up too early.
		select {
		case s.queue <- d:
		case <-s.ended:
		}
	}
}

func (s *Subscription) admit(d *Delivery, consumer string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen, s.open = time.Now(), max(0, s.open-1)
	if pin := d.msg.Header.Get("Nats-Pin-Id"); pin != "" {
		s.pin = pin
	}
	if s.err != nil {
		if s.draining {
			_ = d.Nak(0) // The server redelivers it, now or after AckWait.
		}
		return false
	}
	if s.remake == nil {
		s.unread += d.msg.Size()
		return true
	}
	if consumer != s.current || s.lost {
		return false
	}
	if d.order != s.order {
		s.lost = true
		s.wake()
		return false
	}
	s.order, s.last = s.order+1, d.seq
	s.unread += d.msg.Size()
	return true
}

// status handles the server's status of a pull request.
func (s *Subscription) status(m *nats.Msg) {
	code, text := m.Header.Get("Status"), strings.ToLower(m.Header.Get("Description"))
	s.mu.Lock()
	s.seen = time.Now()
	again := false
	switch code {
	case "100":
		s.mu.Unlock()
		return
	case "404", "408":
		s.expire(m.Header.Get("Nats-Pending-Messages"))
		again = true
	case "423":
		s.pin, s.open, again = "", 0, true
	case "503":
		s.gone, s.open = true, 0
	default:
		s.expire(m.Header.Get("Nats-Pending-Messages"))
		again = s.exceeded(text, m.Header.Get("Nats-Pending-Bytes"))
		if strings.Contains(text, "consumer deleted") {
			s.gone = true
			s.wake()
		}
	}
	s.mu.Unlock()
	if again {
		s.pull()
	}
	if code == "400" {
		s.end(fmt.Errorf("consumer %s: %w: %s", s.name, ErrRefused, text))
	}
}

// exceeded reports whether a pull request ended because the next message would have exceeded its byte limit. If the request
// brought nothing at all, later ones get a higher limit. The caller holds the lock.
func (s *Subscription) exceeded(text, left string) bool {
	if !strings.Contains(text, "exceeds maxbytes") {
		return false
	}
	if n, err := strconv.Atoi(left); err == nil && n >= s.most && s.most < mostMessage {
		s.most *= 2
	}
	return true
}

// expire gives up the rest of a pull request. The caller holds the lock.
func (s *Subscription) expire(left string) {
	n, err := strconv.Atoi(left)
	if err != nil {
		n = s.open
	}
	s.open = max(0, s.open-n)
}

func (s *Subscription) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// restart repeats the pull requests after a reconnect, which has dropped them all.
func (s *Subscription) restart() {
	s.mu.Lock()
	s.open, s.seen, s.lost = 0, time.Now(), s.lost || s.remake != nil
	s.mu.Unlock()
	s.wake()
}

// watch keeps pull requests open until the subscription or the bus ends. It notices missed heartbeats and deleted
// consumers, and recreates ephemeral ones.
func (s *Subscription) watch() {
	defer close(s.watched)
	tick := time.NewTicker(s.bus.queues.pulls.heartbeat)
	defer tick.Stop()
	for {
		select {
		case <-s.ended:
			return
		case <-s.bus.closed:
			s.end(fmt.Errorf("consumer %s: %w: connection", s.name, ErrClosed))
			return
		case <-tick.C:
		case <-s.kick:
		}
		if s.bus.nc.IsConnected() {
			s.mend()
		}
	}
}

func (s *Subscription) mend() {
	s.mu.Lock()
	if len(s.queue) < s.buffer && time.Since(s.seen) > 5*s.bus.queues.pulls.heartbeat/2 {
		s.open, s.seen = 0, time.Now()
		s.bus.presence.interrupted()
		// During the pauses of a replay the server sends no heartbeats.
		s.lost, s.gone = s.lost || s.remake != nil && !s.paced, s.gone || s.paced
	}
	gone, lost, consumer, last := s.gone, s.lost, s.current, s.last
	s.gone = false
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	switch {
	case s.remake != nil && (lost || gone && !s.exists(ctx, consumer)):
		s.again(ctx, last)
	case s.remake != nil:
	case gone && !s.exists(ctx, consumer):
		s.end(fmt.Errorf("consumer %s: %w: it was deleted", s.name, ErrNotFound))
		return
	}
	s.pull()
}

// exists returns false only if the server says that the consumer does not exist.
func (s *Subscription) exists(ctx context.Context, consumer string) bool {
	_, err := s.bus.js.Consumer(ctx, s.stream, consumer)
	return !errors.Is(err, jetstream.ErrConsumerNotFound) && !errors.Is(err, jetstream.ErrStreamNotFound)
}

// again recreates an ephemeral consumer, starting after the last received message.
func (s *Subscription) again(ctx context.Context, last uint64) {
	name, err := s.remake(ctx, last)
	if errors.Is(err, ErrNotFound) {
		s.end(fmt.Errorf("consumer %s: %w", s.name, err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost = err != nil; s.lost {
		s.bus.logger.Warn("cannot recreate the consumer yet", "consumer", s.name, "error", err)
		return
	}
	s.current, s.order, s.open, s.seen = name, 1, 0, time.Now()
}
