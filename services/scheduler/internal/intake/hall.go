package intake

import (
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/fair"
)

const (
	// mostHeld and heldBytes bound the requests that are held unadmitted, by number and size. What is beyond stays in the queue, in
	// its order.
	mostHeld  = bus.IntakeAhead
	heldBytes = 64 << 20
	// smallRequest is up to which size a request may overtake what its tenant has sent before, in bytes.
	smallRequest = 4 << 10
	// tellAfter is when the consumer is told that a request is still held: well before it is redelivered.
	tellAfter = 10 * time.Second
)

// held is a request that waits for its admission.
type held struct {
	delivery bus.Delivery
	size     int
	told     time.Time
	gone     bool // It waits no more.
}

// hall is the requests that wait. They are let in tenant by tenant: the user's, else the session's, else those of all who are
// neither. The zero value is empty and ready to use.
type hall struct {
	line  fair.Queue
	byKey map[string]*held
	bytes int
	// first is the one whose turn it is, once that was asked.
	first string
	// order has the requests by when the consumer last heard of them; some are gone.
	order []*held
}

func (h *hall) empty() bool { return len(h.byKey) == 0 }

// full reports whether no more is to be held.
func (h *hall) full() bool { return len(h.byKey) >= mostHeld || h.bytes >= heldBytes }

// add takes a delivery. The repeat of one that waits takes its place.
func (h *hall) add(now time.Time, d bus.Delivery) {
	key := strconv.FormatUint(d.Seq(), 10)
	if before := h.byKey[key]; before != nil {
		before.delivery = d
		return
	}
	if h.byKey == nil {
		h.byKey = map[string]*held{}
	}
	r := &held{delivery: d, size: len(d.Message().Body), told: now}
	h.byKey[key] = r
	h.bytes += r.size
	h.order = append(h.order, r)
	h.line.Join(item(key, d.Message().Body))
}

// item reads whose request it is. One that cannot be read is anonymous and is refused when its turn comes.
func item(key string, body []byte) fair.Item {
	t := fair.Item{Job: key}
	if len(body) > MaxRequest {
		return t
	}
	body, _ = unwrapped(body, Origin{})
	r, _ := events.DecodeRequest(body)
	switch {
	case r.User != "":
		t.Group = "user " + r.User
	case r.Session != "":
		t.Group = "session " + r.Session
	}
	t.Priority, t.Late = r.Priority, len(body) <= smallRequest && r.Session == "" // Those of a session keep their order.
	return t
}

// head is the one whose turn it is; nil when none waits. It keeps its turn when others arrive.
func (h *hall) head() *held {
	if h.first == "" {
		h.first, _ = h.line.Next()
	}
	return h.byKey[h.first]
}

// next takes that one out.
func (h *hall) next() *held {
	r := h.head()
	if r == nil {
		return nil
	}
	delete(h.byKey, h.first)
	h.first, h.bytes, r.gone = "", h.bytes-r.size, true
	return r
}

// tell has the consumer wait on for those that it has not heard of for a while.
func (h *hall) tell(now time.Time) (failed error) {
	n := 0
	for n < len(h.order) && (h.order[n].gone || now.Sub(h.order[n].told) >= tellAfter) {
		r := h.order[n]
		n++
		if r.gone {
			continue
		}
		if err := r.delivery.InProgress(); err != nil {
			failed = err
		}
		r.told = now
		h.order = append(h.order, r)
	}
	clear(h.order[:n])
	h.order = h.order[n:]
	return failed
}

// leave gives back all that wait, to be had by another reader at once.
func (h *hall) leave() (failed error) {
	for r := h.next(); r != nil; r = h.next() {
		if err := r.delivery.Nak(0); err != nil {
			failed = err
		}
	}
	h.order = nil
	return failed
}
