package a2a

import (
	"crypto/rand"
	"crypto/subtle"
	"io"
	"net/http"
	"strings"
	"sync"
)

// PushPath is the path at which a Receiver must be served.
const PushPath = "/a2a/push/"

// maxPushed is how much of a notification is read, in bytes.
const maxPushed = 1 << 20

// Receiver receives the notifications of agents, for all experts of a process. A notification only triggers a query of the
// task: its content is ignored, so forged, late or repeated notifications change nothing.
type Receiver struct {
	mu       sync.Mutex // Guards expected.
	expected map[string]*expectation
}

// NewReceiver returns a receiver without expectations.
func NewReceiver() *Receiver { return &Receiver{expected: map[string]*expectation{}} }

// expectation is one run's registration for notifications.
type expectation struct {
	receiver *Receiver
	id       string
	notify   *notify
	wake     chan struct{} // Holds at most one notification.
}

// expect registers for notifications until forget. base is the external address of the process.
func (r *Receiver) expect(base string) *expectation {
	e := &expectation{receiver: r, id: rand.Text(), wake: make(chan struct{}, 1)}
	e.notify = &notify{url: strings.TrimSuffix(base, "/") + PushPath + e.id, token: rand.Text()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expected[e.id] = e
	return e
}

func (e *expectation) forget() {
	e.receiver.mu.Lock()
	defer e.receiver.mu.Unlock()
	delete(e.receiver.expected, e.id)
}

// notified returns a channel that receives a value after a notification. A nil expectation is never notified.
func (e *expectation) notified() <-chan struct{} {
	if e == nil {
		return nil
	}
	return e.wake
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
		return
	}
	r.mu.Lock()
	e := r.expected[strings.TrimPrefix(q.URL.Path, PushPath)]
	r.mu.Unlock()
	switch {
	case e == nil:
		http.Error(w, "no notification is expected here", http.StatusNotFound)
		return
	case !e.proves(q.Header):
		http.Error(w, "the token of the notification is not the one that was given", http.StatusUnauthorized)
		return
	}
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, q.Body, maxPushed)); err != nil {
		http.Error(w, "the notification is too large", http.StatusRequestEntityTooLarge)
		return
	}
	select {
	case e.wake <- struct{}{}:
	default: // One is already waiting.
	}
	w.WriteHeader(http.StatusNoContent)
}

// proves reports whether a notification has the token of this registration, in any of the headers that agents use for it.
func (e *expectation) proves(h http.Header) bool {
	_, bearer, _ := strings.Cut(h.Get("Authorization"), " ")
	for _, token := range []string{h.Get("X-A2A-Notification-Token"), h.Get("A2A-Notification-Token"), bearer} {
		if subtle.ConstantTimeCompare([]byte(token), []byte(e.notify.token)) == 1 {
			return true
		}
	}
	return false
}
