package tool

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/egress"
)

// The limits of one relay.
const (
	// relayIdle is how long a connection may be idle.
	relayIdle = 2 * time.Minute
	// mostRelayed limits the bytes that may be received through a relay.
	mostRelayed = 1 << 30
	// dialTime limits the wait for a connection.
	dialTime = 15 * time.Second
)

// Relay connects a program without a network to the web, as far as a guard permits. Each connection is an HTTP/2 request on line:
// its query names the address as "to", its body is what the program sends, and its answer what comes back. A refused address is
// answered with the reason. Relay returns when line or ctx ends.
func Relay(ctx context.Context, g egress.Guard, line net.Conn) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	r := &relay{dialer: net.Dialer{Timeout: dialTime, Control: g.Control}}
	one := &oneLine{conn: line, ended: make(chan struct{})}
	s := &http.Server{
		Protocols: protocols, Handler: r, ReadHeaderTimeout: dialTime, BaseContext: func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				one.end()
			}
		},
	}
	defer context.AfterFunc(ctx, func() { _ = s.Close(); one.end() })()
	_ = s.Serve(one) // It ends with the only connection.
	_ = s.Close()
	_ = line.Close()
}

// relay is the state that the connections of one call of Relay share.
type relay struct {
	dialer net.Dialer
	came   atomic.Int64 // Bytes received over all connections.
}

// ServeHTTP carries one connection of the program.
func (r *relay) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	far, err := r.dialer.DialContext(q.Context(), "tcp", q.URL.Query().Get("to"))
	if err != nil {
		http.Error(w, reasonOf(err), http.StatusBadGateway)
		return
	}
	defer func() { _ = far.Close() }()
	defer context.AfterFunc(q.Context(), func() { _ = far.Close() })()
	out := http.NewResponseController(w)
	w.WriteHeader(http.StatusOK)
	if out.Flush() != nil {
		return
	}
	var sending sync.WaitGroup // Its goroutine ends with the body, at the latest when the handler has returned.
	sending.Go(func() {
		_, _ = io.Copy(far, q.Body)
		if half, is := far.(*net.TCPConn); is {
			_ = half.CloseWrite()
		}
	})
	defer sending.Wait()
	defer func() { _ = q.Body.Close() }()
	part := make([]byte, 32<<10)
	for {
		_ = far.SetReadDeadline(time.Now().Add(relayIdle)) // Setting a deadline on a connection does not fail.
		n, err := far.Read(part)
		if n > 0 && (r.came.Add(int64(n)) > mostRelayed || !pass(w, out, part[:n])) || err != nil {
			return
		}
	}
}

// pass writes data at once; false if its reader is gone.
func pass(w io.Writer, out *http.ResponseController, part []byte) bool {
	_, err := w.Write(part)
	return errors.Join(err, out.Flush()) == nil
}

// reasonOf says why an address cannot be reached, without the operation that failed.
func reasonOf(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return err.Error()
}

// oneLine is a listener for one existing connection.
type oneLine struct {
	conn        net.Conn
	ended       chan struct{}
	first, last sync.Once
}

func (l *oneLine) end() { l.last.Do(func() { close(l.ended) }) }

// Accept implements net.Listener. The second call waits for the end of the connection.
func (l *oneLine) Accept() (conn net.Conn, err error) {
	l.first.Do(func() { conn = l.conn })
	if conn != nil {
		return conn, nil
	}
	<-l.ended
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (l *oneLine) Close() error { l.end(); return nil }

// Addr implements net.Listener.
func (l *oneLine) Addr() net.Addr { return l.conn.LocalAddr() }
