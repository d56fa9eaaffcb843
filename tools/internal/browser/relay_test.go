package browser

import (
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"testing"
)

// relay plays the runner's relay: it reaches the hosts in allowed.
type relay struct {
	allowed func(address string) bool
	end     func()     // Ends the relay like the end of the runner; set by line.
	mu      sync.Mutex // Guards asked.
	asked   []string
}

// line returns the program's end of a connection to the relay.
func (r *relay) line(t *testing.T) *os.File {
	t.Helper()
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours := os.NewFile(uintptr(ends[0]), "ours")
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	_ = ours.Close() // The connection has a copy.
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols, Handler: r}
	l := &single{conn: make(chan net.Conn, 1), over: make(chan struct{}), at: conn.LocalAddr()}
	l.conn <- conn
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) })
	r.end = sync.OnceFunc(func() { _ = server.Close(); _ = conn.Close(); serving.Wait() })
	t.Cleanup(r.end)
	return os.NewFile(uintptr(ends[1]), "theirs")
}

// ServeHTTP handles one connection.
func (r *relay) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	to := q.URL.Query().Get("to")
	r.mu.Lock()
	r.asked = append(r.asked, to)
	r.mu.Unlock()
	if !r.allowed(to) {
		http.Error(w, to+" is not a public address", http.StatusBadGateway)
		return
	}
	far, err := new(net.Dialer).DialContext(q.Context(), "tcp", to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = far.Close() }()
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	_ = out.Flush()
	go func() { _, _ = io.Copy(far, q.Body) }() // Ends with the body.
	part := make([]byte, 4<<10)
	for {
		n, err := far.Read(part)
		if n > 0 {
			_, _ = w.Write(part[:n])
			_ = out.Flush()
		}
		if err != nil {
			return
		}
	}
}

// to returns the requested addresses.
func (r *relay) to() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

// single is a listener with one connection.
type single struct {
	conn chan net.Conn
	over chan struct{}
	once sync.Once
	at   net.Addr
}

func (l *single) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *single) Close() error   { l.once.Do(func() { close(l.over) }); return nil }
func (l *single) Addr() net.Addr { return l.at }
