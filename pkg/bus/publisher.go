package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Ack is the pending acknowledgement of one publish.
type Ack struct{ w *waiting }

// waiting is one unacknowledged publish. The publisher's lock guards its fields until done is set.
type waiting struct {
	p       *publisher
	subject string
	sent    time.Time
	seq     uint64
	err     error
	done    bool
	told    chan struct{} // Created by the first waiter, closed when done.
	// named is set for a message with an id; repeat is the stream that dropped it as the repeat of the message at seq, "" for none.
	named  *named
	repeat string
}

// publisher sends messages and matches acknowledgements to them, with one subscription and one timer.
type publisher struct {
	nc      *nats.Conn
	timeout time.Duration
	window  int
	inbox   string
	sub     *nats.Subscription
	logger  *slog.Logger
	// taken is the method Bus.taken.
	taken func(ctx context.Context, stream string, seq uint64, m events.Message) (bool, error)

	mu      sync.Mutex // Guards everything below and every waiting.
	room    sync.Cond  // Signalled when len(pending) falls below window, and on close.
	pending map[uint64]*waiting
	// free holds ids of finished publishes for reuse, since the server remembers the listeners of each reply subject. An id
	// is not reused if its acknowledgement never came or may still come. last is the highest id used so far.
	free   []uint64
	last   uint64
	timer  *time.Timer
	closed bool
	// silences are the messages that were not acknowledged, by kind.
	silences map[string]*silence
}

func newPublisher(nc *nats.Conn, o *Options, taken func(context.Context, string, uint64, events.Message) (bool, error)) (*publisher, error) {
	p := &publisher{
		nc: nc, timeout: o.AckTimeout, window: o.MaxPending, logger: o.Logger, taken: taken, inbox: nc.NewInbox() + ".",
		pending: map[uint64]*waiting{}, silences: map[string]*silence{},
	}
	p.room.L = &p.mu
	sub, err := nc.Subscribe(p.inbox+"*", p.answer)
	if err != nil {
		return nil, err
	}
	p.sub = sub
	return p, sub.SetPendingLimits(-1, -1)
}

func (p *publisher) send(m events.Message, e Expect) Ack {
	w := p.hold(m, e)
	p.transmit(w, m, e)
	return Ack{w}
}

// hold returns the unacknowledged publish of a message that is not sent yet. transmit sends it, forgo ends it.
func (p *publisher) hold(m events.Message, e Expect) *waiting {
	w := &waiting{p: p, subject: m.Subject}
	if m.Get(events.HeaderMsgID) != "" {
		w.named = &named{message: m, expect: e}
	}
	return w
}

// transmit sends a message that hold has prepared.
func (p *publisher) transmit(w *waiting, m events.Message, e Expect) {
	header := m.Header
	if header == nil {
		header = make(map[string][]string, 2)
	}
	e.write(header)
	id, ok := p.register(w)
	if !ok {
		return
	}
	err := p.nc.PublishMsg(&nats.Msg{Subject: m.Subject, Reply: p.inbox + strconv.FormatUint(id, 36), Header: header, Data: m.Body})
	if err != nil {
		p.drop(id, class(err))
	}
}

// forgo ends a publish that was not sent.
func (p *publisher) forgo(w *waiting, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.end(0, err)
}

func (p *publisher) register(w *waiting) (id uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.pending) >= p.window && !p.closed {
		p.room.Wait()
	}
	if p.closed {
		w.end(0, fmt.Errorf("%w: connection", ErrClosed))
		return 0, false
	}
	if rest := len(p.free) - 1; rest >= 0 {
		id, p.free = p.free[rest], p.free[:rest]
	} else {
		p.last++
		id = p.last
	}
	w.sent = time.Now()
	p.pending[id] = w
	if p.timer == nil {
		p.timer = time.AfterFunc(p.timeout, p.sweep)
	}
	return id, true
}

// sweep ends publishes that have waited too long. It runs by a timer while any are pending, and re-arms itself.
func (p *publisher) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	now := time.Now()
	next := p.timeout
	for id, w := range p.pending {
		left := p.timeout - now.Sub(w.sent)
		if left <= 0 {
			p.end(id, w, 0, fmt.Errorf("%w: no acknowledgement within %s", ErrUnknown, p.timeout))
			p.unheard(w, now)
			continue
		}
		next = min(next, left)
	}
	if len(p.pending) > 0 && !p.closed {
		p.timer = time.AfterFunc(next, p.sweep)
	}
}

var errNoResponder = fmt.Errorf("%w: no stream answers on this subject", ErrUnavailable)

// answer handles the acknowledgements; the subscription calls it from one goroutine until close.
func (p *publisher) answer(m *nats.Msg) {
	id, err := strconv.ParseUint(m.Subject[len(p.inbox):], 36, 64)
	if err != nil {
		return
	}
	if len(m.Data) == 0 {
		p.settle(id, 0, errNoResponder)
		return
	}
	seq, err := parseAck(m.Data)
	if err == nil && bytes.Contains(m.Data, []byte(`"duplicate"`)) {
		p.repeated(id, m.Data)
	}
	p.settle(id, seq, err)
}

// parseAck parses {"stream":"…","seq":N…} without reflection, and falls back to encoding/json for anything else.
func parseAck(body []byte) (uint64, error) {
	if rest, ok := bytes.CutPrefix(body, []byte(`{"stream":"`)); ok {
		if _, rest, ok = bytes.Cut(rest, []byte(`,"seq":`)); !ok {
			_, rest, ok = bytes.Cut(body, []byte(`, "seq":`))
		}
		if seq, digits := leadingNumber(rest); ok && digits {
			return seq, nil
		}
	}
	if err := refusalOf(body); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("%w: answer is no acknowledgement: %.80q", ErrUnknown, body)
}

func leadingNumber(text []byte) (n uint64, ok bool) {
	for i, c := range text {
		if c < '0' || c > '9' {
			return n, i > 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n, len(text) > 0
}

// drop ends a publish that the client failed to send. A connection that breaks may have sent it nevertheless, so its id is
// not reused.
func (p *publisher) drop(id uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.pending[id]; w != nil {
		p.end(id, w, 0, err)
	}
}

func (p *publisher) settle(id, seq uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.pending[id]; w != nil {
		p.end(id, w, seq, err)
		if err == nil && w.repeat == "" {
			p.heard(w.subject)
		}
		if err == nil || errors.Is(err, ErrConflict) {
			p.free = append(p.free, id)
		}
	}
}

// end ends a publish with its result. The caller holds the lock.
func (p *publisher) end(id uint64, w *waiting, seq uint64, err error) {
	delete(p.pending, id)
	w.end(seq, err)
	p.room.Signal()
}

// end ends a publish with its result. The caller holds the publisher's lock.
func (w *waiting) end(seq uint64, err error) {
	w.seq, w.err, w.done = seq, err, true
	if w.told != nil {
		close(w.told)
	}
}

// deny ends the pending publishes on a subject that the server refuses.
func (p *publisher) deny(subject string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, w := range p.pending {
		if w.subject == subject {
			p.end(id, w, 0, err)
		}
	}
}

// fail ends every pending publish with err.
func (p *publisher) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, w := range p.pending {
		p.end(id, w, 0, err)
	}
}

func (p *publisher) close() {
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	p.room.Broadcast()
	p.mu.Unlock()
	p.fail(fmt.Errorf("%w: connection closed", ErrUnknown))
	_ = p.sub.Unsubscribe() // The connection may be closed already.
}

// Wait returns the sequence of the stored message. If ctx ends first, the error wraps ErrUnknown and the context's error.
func (a Ack) Wait(ctx context.Context) (uint64, error) {
	seq, err := a.w.wait(ctx)
	if err != nil {
		return 0, fmt.Errorf("publish %s: %w", a.w.subject, err)
	}
	return seq, nil
}

func (w *waiting) wait(ctx context.Context) (uint64, error) {
	if w.p == nil {
		return w.seq, w.err
	}
	w.p.mu.Lock()
	if !w.done {
		if w.told == nil {
			w.told = make(chan struct{})
		}
		told := w.told
		w.p.mu.Unlock()
		select {
		case <-told:
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %w", ErrUnknown, ctx.Err())
		}
		w.p.mu.Lock()
	}
	repeat := w.repeat
	w.p.mu.Unlock()
	if repeat == "" {
		return w.seq, w.err
	}
	return w.named.distinct(ctx, w)
}

// failed returns the Ack of a message that was never sent.
func failed(subject string, err error) Ack {
	return Ack{&waiting{done: true, subject: subject, err: err}}
}
