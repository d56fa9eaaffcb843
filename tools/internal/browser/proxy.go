package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// proxy is the HTTP proxy of Chromium, its only access to the web. Each connection goes through the relay of the runner as an HTTP/2 request.
type proxy struct {
	relay  *http.Client
	server *http.Server
	listen net.Listener

	mu      sync.Mutex        // Guards refused.
	refused map[string]string // The latest reason why each host could not be reached.
}

// mostRefused limits the hosts whose reasons are remembered.
const mostRefused = 200

// newProxy starts a proxy on the loopback interface of this sandbox. line is the connection to the relay.
func newProxy(line *os.File) (*proxy, error) {
	conn, err := net.FileConn(line)
	if err = errors.Join(err, line.Close()); err != nil {
		return nil, fmt.Errorf("open the relay: %w", err)
	}
	listen, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the browser: %w", err)
	}
	only := make(chan net.Conn, 1) // The only connection to the relay; it ends with the runner.
	only <- conn
	over := new(http.Protocols)
	over.SetUnencryptedHTTP2(true)
	p := &proxy{listen: listen, refused: map[string]string{}, relay: &http.Client{Transport: &http.Transport{
		Protocols: over, DisableCompression: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			select {
			case c := <-only:
				return c, nil
			default:
				return nil, errors.New("the relay of the runner has ended")
			}
		},
	}}}
	plain := &httputil.ReverseProxy{
		Rewrite:   func(*httputil.ProxyRequest) {},
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return p.dial(ctx, address) }, DisableCompression: true, MaxIdleConnsPerHost: 6, IdleConnTimeout: 30 * time.Second},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	p.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			p.tunnel(w, r)
			return
		}
		plain.ServeHTTP(w, r)
	})}
	go func() { _ = p.server.Serve(listen) }() // Ends with close.
	return p, nil
}

// address returns the address of the proxy for Chromium.
func (p *proxy) address() string { return "http://" + p.listen.Addr().String() }

func (p *proxy) close() { _ = p.server.Close() }

// why returns the latest reason why a host was refused; empty if there is none.
func (p *proxy) why(host string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refused[host]
}

// forget discards the reason of a host, so that only a later one counts.
func (p *proxy) forget(host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.refused, host)
}

// dial connects to an address through the relay.
func (p *proxy) dial(ctx context.Context, address string) (*through, error) {
	theirs, ours := io.Pipe()
	request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, "http://relay/?to="+url.QueryEscape(address), theirs)
	if err != nil {
		return nil, err
	}
	answer, err := p.relay.Do(request)
	if err != nil {
		return nil, p.note(address, err)
	}
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10)) // As much as could be read.
		_ = answer.Body.Close()
		_ = ours.Close()
		return nil, p.note(address, errors.New(strings.TrimSpace(string(said))))
	}
	return &through{out: ours, in: answer.Body}, nil
}

// note remembers why an address could not be reached.
func (p *proxy) note(address string, err error) error {
	host, _, split := net.SplitHostPort(address)
	if split != nil {
		host = address
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) < mostRefused {
		p.refused[host] = err.Error()
	}
	return err
}

// tunnel serves the method CONNECT.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	far, err := p.dial(r.Context(), r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = far.Close() }()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = near.Close() }()
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{})
	go func() { // Ends with either connection; both are closed once the other direction has ended.
		defer close(done)
		_, _ = io.Copy(far, buffered)
		_ = far.out.Close()
	}()
	_, _ = io.Copy(near, far)
	_ = near.Close()
	<-done
}

// through is a connection through the relay. It has no deadlines, since calls of the browser have them.
type through struct {
	out *io.PipeWriter
	in  io.ReadCloser
}

func (c *through) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c *through) Write(b []byte) (int, error) { return c.out.Write(b) }

func (c *through) Close() error { return errors.Join(c.out.Close(), c.in.Close()) }

func (*through) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*through) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*through) SetDeadline(time.Time) error      { return nil }
func (*through) SetReadDeadline(time.Time) error  { return nil }
func (*through) SetWriteDeadline(time.Time) error { return nil }
