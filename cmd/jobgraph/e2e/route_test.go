//go:build e2e

package e2e

import (
	"net"
	"sync"
	"testing"

	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// route is the connection from one node of a cluster to another, which the test can cut. Data sent into a cut connection is
// neither delivered nor refused, as in a network that drops packets.
type route struct {
	listener net.Listener
	to       string

	mu    sync.Mutex // Guards conns and open.
	conns map[net.Conn]struct{}
	open  chan struct{} // Closed while the wire is whole.
	all   sync.WaitGroup
}

// newRoute connects to an address until the test ends.
func newRoute(t *testing.T, to string) *route {
	t.Helper()
	l := musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	r := &route{listener: l, to: to, conns: map[net.Conn]struct{}{}, open: make(chan struct{})}
	close(r.open)
	r.all.Go(r.accept) // Ends when the listener is closed.
	t.Cleanup(func() {
		_ = r.listener.Close() // Ends accept.
		r.heal()
		r.mu.Lock()
		for c := range r.conns {
			_ = c.Close() // Ends its copies.
		}
		r.mu.Unlock()
		r.all.Wait()
	})
	return r
}

func (r *route) addr() string { return r.listener.Addr().String() }

func (r *route) accept() {
	for {
		near, err := r.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", r.to)
		if err != nil {
			_ = near.Close() // The node is down, as the caller notices.
			continue
		}
		r.mu.Lock()
		r.conns[near], r.conns[far] = struct{}{}, struct{}{}
		r.mu.Unlock()
		r.all.Go(func() { r.copy(near, far) }) // Both end when either side closes.
		r.all.Go(func() { r.copy(far, near) })
	}
}

func (r *route) copy(from, to net.Conn) {
	defer func() {
		_, _ = from.Close(), to.Close() // One of them may be closed already.
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, from)
		delete(r.conns, to)
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		<-r.whole()
		if _, failed := to.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

func (r *route) whole() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open
}

// cut makes the connection swallow everything.
func (r *route) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open = make(chan struct{})
}

// heal delivers what was held back, and everything that is sent later.
func (r *route) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.open:
	default:
		close(r.open)
	}
}
