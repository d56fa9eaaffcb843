package embed

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/host"
)

// Settings configures the server.
type Settings struct {
	// Store is the folder of the streams; if empty, a temporary one that is removed at the end.
	Store string
	// Listen is HOST:PORT for other processes; empty does not listen, port 0 takes a free one.
	Listen string
	// SyncAlways makes every write durable before it is acknowledged; without it a power failure may lose up to two
	// minutes.
	SyncAlways bool
	// Config is a configuration file with accounts and TLS; empty for a server that lets everyone in.
	Config string
}

// startBound limits the start of a server; recovering a large store takes time.
const startBound = 60 * time.Second

// Server is a running NATS server that owns the folder of its streams.
type Server struct {
	nats   *server.Server
	store  string
	lock   *os.File
	tls    bool
	alarms alarms
	// temp is true while the folder is to be removed at the end. Keep may be called concurrently with Store.
	temp atomic.Bool
}

// Start runs a server. Errors are events.Faults if the user can fix them: the folder or the address is in use, or the disk
// is full.
func Start(s Settings) (*Server, error) {
	e := &Server{store: s.Store, alarms: make(alarms, 1)}
	if err := e.claim(); err != nil {
		return nil, err
	}
	if err := e.try(); err != nil {
		return nil, errors.Join(err, e.release())
	}
	opts := &server.Options{
		ServerName: "jobgraph", DontListen: true, NoLog: true, NoSigs: true, JetStream: true, StoreDir: e.store,
		SyncAlways: s.SyncAlways, JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 1 << 50,
	}
	if s.Config != "" {
		if err := protect(opts, s.Config); err != nil {
			return nil, errors.Join(err, e.release())
		}
	}
	if s.Listen != "" {
		if err := listen(opts, s.Listen); err != nil {
			return nil, errors.Join(err, e.release())
		}
	}
	nats, err := server.NewServer(opts)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make embedded server: %w", err), e.release())
	}
	e.nats, e.tls = nats, opts.TLSConfig != nil
	nats.SetLoggerV2(e.alarms, false, false, false)
	nats.Start()
	if !nats.ReadyForConnections(startBound) {
		return nil, errors.Join(fmt.Errorf("the embedded server did not start within %s", startBound), e.Stop())
	}
	if !nats.JetStreamEnabled() {
		return nil, errors.Join(fmt.Errorf("the embedded server has no JetStream: is %s writable?", e.store), e.Stop())
	}
	return e, nil
}

// protect applies the accounts and TLS settings of a configuration file.
func protect(opts *server.Options, path string) error {
	file, err := server.ProcessConfigFile(path)
	if err != nil {
		return events.Faults{{
			Code: events.CodeInvalid, Field: "secure", Message: "the server cannot use " + path, Cause: err.Error(), Hint: "make it again with `jobgraph init --secure`",
		}}
	}
	opts.Accounts, opts.Nkeys, opts.Users, opts.SystemAccount = file.Accounts, file.Nkeys, file.Users, file.SystemAccount
	opts.TLS, opts.TLSConfig, opts.TLSTimeout = file.TLS, file.TLSConfig, file.TLSTimeout
	return nil
}

// listen sets the server's address. A named port is bound briefly to check that it is free, since the server itself would
// end the process. A free port is chosen by the server, since one tested here might be taken by then.
func listen(opts *server.Options, addr string) error {
	name, port, err := net.SplitHostPort(addr)
	if err == nil && port == "0" {
		opts.Host, opts.Port, opts.DontListen = name, server.RANDOM_PORT, false
		return nil
	}
	var l net.Listener
	err = host.Acquire(func() (err error) {
		l, err = net.Listen("tcp", addr)
		return err
	})
	if err != nil {
		return events.Faults{{
			Code: events.CodeInvalid, Field: "nats", Message: "cannot listen on " + addr, Cause: err.Error(),
			Hint: "give a free address, port 0 for any free one, or off",
		}}
	}
	taken, ok := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil || !ok {
		return fmt.Errorf("try %s: %w", addr, err)
	}
	opts.Host, opts.Port, opts.DontListen = name, taken.Port, false
	return nil
}

// claim creates the folder and locks it.
func (e *Server) claim() error {
	if e.store == "" {
		sweep(os.TempDir(), time.Now().Add(-keptFor))
		dir, err := os.MkdirTemp("", "jobgraph-")
		if err != nil {
			return fmt.Errorf("make store: %w", err)
		}
		e.store = dir
		e.temp.Store(true)
	}
	if err := os.MkdirAll(e.store, 0o700); err != nil {
		return fmt.Errorf("make store: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(e.store, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock store: %w", err)
	}
	if err := host.Acquire(func() error { return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }); err != nil {
		_ = lock.Close() // Nothing was written.
		return events.Faults{{
			Code: events.CodeConflict, Field: "store", Message: "the store " + e.store + " is in use by another process",
			Hint: "use that one (--server), end it, or name another folder with --store",
		}}
	}
	e.lock = lock
	now := time.Now()
	_ = os.Chtimes(lock.Name(), now, now) // It says when the folder was used; with an older time it is only deleted sooner.
	return nil
}

// InProcessConn returns a connection without a socket.
func (e *Server) InProcessConn() (net.Conn, error) { return e.nats.InProcessConn() }

// URL returns the address for other processes, "" if it does not listen.
func (e *Server) URL() string {
	addr, ok := e.nats.Addr().(*net.TCPAddr)
	if !ok {
		return ""
	}
	if e.tls {
		return "tls://" + addr.String()
	}
	return "nats://" + addr.String()
}

// Store returns the folder in use, and whether it is removed with the server.
func (e *Server) Store() (dir string, temporary bool) { return e.store, e.temp.Load() }

// Keep makes a temporary folder stay after the end, and returns its path.
func (e *Server) Keep() (dir string) {
	e.temp.Store(false)
	return e.store
}

// Stop ends the server, waits for its end, and unlocks its folder or removes a temporary one.
func (e *Server) Stop() error {
	if e.nats != nil {
		e.nats.Shutdown()
		e.nats.WaitForShutdown()
	}
	return e.release()
}

// release unlocks the folder. Closing the file would not be enough: a program that another goroutine is starting at this moment has a copy
// of the descriptor until it is executed.
func (e *Server) release() error {
	err := errors.Join(syscall.Flock(int(e.lock.Fd()), syscall.LOCK_UN), e.lock.Close())
	if e.temp.Load() {
		err = errors.Join(err, os.RemoveAll(e.store))
	}
	return err
}
