package live

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

const (
	// maxTotal limits the text of all runs that waits for the bus, in bytes.
	maxTotal = 32 << 20
	// together is how much before its time something is sent along with other items.
	together = 5 * time.Millisecond
	// confirmWithin limits the wait for an acknowledgement. The others are how long the writer does not ask again: retryAbsent if
	// the bus has no stream of live items, retrySlow if no acknowledgement came in time, which without a stream looks the same when
	// there are listeners.
	confirmWithin = time.Second
	retryAbsent   = 30 * time.Second
	retrySlow     = 5 * time.Second
)

// Port is the bus. Ready returns nil while there is a connection. The pool of a run may be empty. Send passes a message on without
// waiting. Confirm does the same and returns the acknowledgement, which comes after that of every earlier message. OnBus implements it with bus.Items.
type Port interface {
	Ready() error
	Send(job, subjob, pool string, body []byte) error
	Confirm(job, subjob, pool string, body []byte) (Pending, error)
}

// Pending is an outstanding acknowledgement.
type Pending interface {
	Wait(ctx context.Context) (uint64, error)
}

// OnBus returns the port over a bus.
func OnBus(b *bus.Bus) Port { return port{b, b.Items()} }

type port struct {
	bus   *bus.Bus
	items *bus.Items
}

func (p port) Ready() error { return p.bus.Ready() }

func (p port) Send(job, subjob, pool string, body []byte) error {
	return p.items.Send(job, subjob, pool, body)
}

func (p port) Confirm(job, subjob, pool string, body []byte) (Pending, error) {
	return p.items.Confirm(job, subjob, pool, body)
}

// Writer passes on the items of all runs of a process. It is safe for concurrent use. A nil Writer opens nil runs.
type Writer struct {
	port    Port
	secrets *redact.Set
	total   atomic.Int64  // The text that waits.
	wake    chan struct{} // Holds one token if soon or later has changed.
	stop    chan struct{} // Closed by Close.
	ended   chan struct{} // Closed when the goroutine of New has ended.
	once    sync.Once     // Guards the closing of stop.

	mu    sync.Mutex // Guards soon and later; held only briefly.
	soon  []*Run
	later []due // In the order of their times.

	// The fields below belong to the goroutine.
	unconfirmed Pending
	sentLast    []*Run    // The runs of the previous round.
	askAgain    time.Time // When to ask for an acknowledgement again; zero for always.
}

// due is a run with items that may wait until a time.
type due struct {
	run *Run
	at  time.Time
}

// New starts a writer, which works until Close. It removes secrets from items; nil means none.
func New(p Port, secrets *redact.Set) *Writer {
	w := &Writer{port: p, secrets: secrets, wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
	go w.work()
	return w
}

// Open returns the sink of a run. It costs nothing until something is shown.
func (w *Writer) Open(job, subjob string, run int, expert string) *Run {
	if w == nil {
		return nil
	}
	return &Run{w: w, job: job, subjob: subjob, number: run, expert: expert, open: map[string]*entry{}}
}

// Close sends the waiting items, for at most a second or until ctx ends, and ends the writer.
func (w *Writer) Close(ctx context.Context) {
	w.once.Do(func() { close(w.stop) })
	select {
	case <-w.ended:
	case <-ctx.Done():
	}
}

func (w *Writer) stream() *redact.Stream { return w.secrets.Redactor().Stream(false) }

// room reserves bytes of text; false if there is no room.
func (w *Writer) room(n int) bool {
	if w.total.Add(int64(n)) <= maxTotal {
		return true
	}
	w.total.Add(int64(-n))
	return false
}

func (w *Writer) sent(n int) { w.total.Add(int64(-n)) }

// schedule queues a run to be sent: now, or together with what follows soon. The caller holds the lock of the run.
func (w *Writer) schedule(r *Run, now bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case now && !r.hasty:
		r.hasty = true
		w.soon = append(w.soon, r)
	case !now && !r.waits && !r.hasty:
		r.waits = true
		w.later = append(w.later, due{r, time.Now().Add(coalesce)})
		if len(w.later) > 1 {
			return // The goroutine already waits for an earlier time.
		}
	default:
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// collect returns the runs to send now, and how long to wait for the next; negative means until something waits. With all it
// returns everything.
func (w *Writer) collect(all bool) (list []*Run, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list, w.soon = w.soon, nil
	for _, r := range list {
		r.hasty = false
	}
	wait = -1
	n := 0
	for ; n < len(w.later); n++ {
		if left := time.Until(w.later[n].at); left > together && !all {
			wait = left
			break
		}
	}
	for _, d := range w.later[:n] {
		d.run.waits = false
		list = append(list, d.run)
	}
	rest := copy(w.later, w.later[n:])
	clear(w.later[rest:])
	w.later = w.later[:rest]
	return list, wait
}

// work runs until Close.
func (w *Writer) work() {
	defer close(w.ended)
	for {
		list, wait := w.collect(false)
		if len(list) > 0 {
			w.send(list)
			continue
		}
		if !w.pause(wait) {
			break
		}
	}
	list, _ := w.collect(true)
	w.send(list)
	w.confirm()
}

// pause waits for news or until a time; false means that the writer was closed.
func (w *Writer) pause(wait time.Duration) bool {
	var over <-chan time.Time
	if wait >= 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-w.wake:
	case <-over:
	case <-w.stop:
		return false
	}
	return true
}

// send sends the waiting items of some runs. Without a connection it keeps everything and tries again after coalesce.
func (w *Writer) send(list []*Run) {
	if len(list) == 0 {
		return
	}
	if w.port.Ready() != nil {
		for _, r := range list {
			w.schedule(r, false)
		}
		return
	}
	w.confirm()
	redactor := w.secrets.Redactor()
	w.sentLast = w.sentLast[:0]
	var body []byte
	var last *Run
	for _, r := range list {
		items := r.take()
		if len(items) == 0 {
			continue
		}
		next, err := item.Encode(items)
		if err != nil {
			continue // An item can always be encoded unless its data is not JSON.
		}
		if last != nil {
			w.pass(last, body)
		}
		last, body = r, redactor.JSON(next)
		w.sentLast = append(w.sentLast, r)
	}
	if last != nil {
		w.passLast(last, body)
	}
}

func (w *Writer) pass(r *Run, body []byte) {
	if w.port.Send(r.job, r.subjob, r.pool, body) != nil {
		r.missed()
	}
}

// passLast sends the last message of a round and asks for its acknowledgement, which limits how far the bus may lag behind.
func (w *Writer) passLast(r *Run, body []byte) {
	if time.Now().Before(w.askAgain) {
		w.pass(r, body)
		return
	}
	pending, err := w.port.Confirm(r.job, r.subjob, r.pool, body)
	if err != nil {
		r.missed()
		return
	}
	w.unconfirmed = pending
}

// confirm waits for the acknowledgement of the last round, within bounds.
func (w *Writer) confirm() {
	if w.unconfirmed == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), confirmWithin)
	defer cancel()
	_, err := w.unconfirmed.Wait(ctx)
	w.unconfirmed = nil
	switch {
	case err == nil:
	case errors.Is(err, bus.ErrUnavailable):
		w.askAgain = time.Now().Add(retryAbsent) // There is no stream: only current listeners get items.
	case ctx.Err() != nil:
		w.askAgain = time.Now().Add(retrySlow)
	default:
		for _, r := range w.sentLast {
			r.missed()
		}
	}
}
