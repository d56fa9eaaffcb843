package intake

import (
	"strconv"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/fair"
)

const (
	// mostHeld and heldBytes limit the held requests by number and size. Further requests stay in the queue, in order.
	mostHeld  = bus.IntakeAhead
	heldBytes = 64 << 20
	// smallRequest is the size up to which a request may overtake earlier ones of its tenant, in bytes.
	smallRequest = 4 << 10
	// tellAfter is when the consumer is told that a request is still held: well before redelivery.
	tellAfter = 10 * time.Second
)

// held is a request that waits for its admission.
type held struct {
	delivery bus.Delivery
	size     int
	told     time.Time
	gone     bool // The request no longer waits.
}

// hall holds the waiting requests. They are admitted tenant by tenant: a user, otherwise a session, otherwise all requests without
// either. The zero value is empty and ready to use.
type hall struct {
	line  fair.Queue
	byKey map[string]*held
	bytes int
	// first is the request whose turn it is, once that is determined.
	first string
	// order has the requests by the time of their last in-progress message; some no longer wait.
	order []*held
}

func (h *hall) empty() bool { return len(h.byKey) == 0 }

// full reports whether no more requests should be held.
func (h *hall) full() bool { return len(h.byKey) >= mostHeld || h.bytes >= heldBytes }

// add adds a delivery. The repeat of a waiting one replaces it.
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

// item determines the tenant of a request. An unreadable request is anonymous and is refused when its turn comes.
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
	t.Priority, t.Late = r.Priority, len(body) <= smallRequest && r.Session == "" // Requests of a session keep their order.
	return t
}

// head returns the request whose turn it is; nil if none waits. It keeps its turn when others arrive.
func (h *hall) head() *held {
	if h.first == "" {
		h.first, _ = h.line.Next()
	}
	return h.byKey[h.first]
}

// next removes and returns that request.
func (h *hall) next() *held {
	r := h.head()
	if r == nil {
		return nil
	}
	delete(h.byKey, h.first)
	h.first, h.bytes, r.gone = "", h.bytes-r.size, true
	return r
}

// tell sends in-progress messages for requests that are due for one.
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

// leave returns all waiting requests to the queue, for other readers.
func (h *hall) leave() (failed error) {
	for r := h.next(); r != nil; r = h.next() {
		if err := r.delivery.Nak(0); err != nil {
			failed = err
		}
	}
	h.order = nil
	return failed
}
