package adapter

import (
	"log/slog"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
)

const (
	// ackDelay is how long an acknowledgement waits for others, far below the consumer's ack wait.
	ackDelay = 10 * time.Millisecond
	// mostAcks is how many acknowledgements wait.
	mostAcks = 32
)

// acks delays acknowledgements for a moment, and the latest one for as long as others follow closely. If the last message of a work
// queue is removed, the server drops the file and makes a new one for the next message: when SubJobs followed each other, that took a
// fifth of the time. If the process dies, delayed work is delivered again: the journal answers it, and the first report of a pure
// expert wins.
type acks struct {
	log *slog.Logger

	mu      sync.Mutex // Guards the fields below.
	list    []*bus.Delivery
	timer   *time.Timer // Armed while list holds something.
	newest  time.Time
	stopped bool
}

// add acknowledges a delivery after the delay, or at once when stopped.
func (a *acks) add(d *bus.Delivery) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return d.Ack()
	}
	a.list, a.newest = append(a.list, d), time.Now()
	switch {
	case len(a.list) > mostAcks:
		a.send(len(a.list) - 1)
	case a.timer == nil:
		a.timer = time.AfterFunc(ackDelay, a.due)
	}
	return nil
}

// due runs in the timer's goroutine and sends everything that has waited long enough.
func (a *acks) due() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = nil
	if a.stopped {
		return
	}
	if left := ackDelay - time.Since(a.newest); left > 0 {
		a.send(len(a.list) - 1)
		a.timer = time.AfterFunc(left, a.due)
		return
	}
	a.send(len(a.list))
}

// send acknowledges the first n deliveries of the list. The caller holds the lock.
func (a *acks) send(n int) {
	for _, d := range a.list[:max(n, 0)] {
		if err := d.Ack(); err != nil {
			a.log.Debug("settle delivery", "error", err)
		}
	}
	left := copy(a.list, a.list[max(n, 0):])
	clear(a.list[left:])
	a.list = a.list[:left]
}

// stop acknowledges the delayed deliveries; later ones are acknowledged at once.
func (a *acks) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	if a.timer != nil {
		a.timer.Stop()
	}
	a.send(len(a.list))
}
