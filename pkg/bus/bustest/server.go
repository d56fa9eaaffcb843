package bustest

import (
	"net"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats-server/v2/server/ats"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/musttest"
)

// Lingers is a goroutine of the server that may outlive its shutdown by some seconds; leak checks ignore it.
const Lingers = "github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"

// Settings configures the server. The zero value listens on a free loopback port.
type Settings struct {
	// Quiet starts the server without a port. Only connections within the process are possible, which a synctest bubble
	// requires.
	Quiet bool
	// Store is the folder of JetStream; a folder of the test if empty.
	Store string
	// SyncAlways makes every write durable before it is acknowledged.
	SyncAlways bool
	// MaxStore limits the bytes that JetStream may use; 0 means no limit.
	MaxStore int64
	// MaxPayload is the largest message in bytes; 0 means the server's default.
	MaxPayload int32
	// MaxConsumers limits the consumers of a stream; 0 means the server's default.
	MaxConsumers int
	// User and Password are the required credentials, if set.
	User, Password string
	// Config is a configuration file with accounts, instead of the credentials.
	Config string
}

// Server is a NATS server that runs as long as its test.
type Server struct {
	t        testing.TB
	settings Settings
	port     int

	mu   sync.Mutex // Guards nats: clients reconnect while a test stops the server.
	nats *server.Server
}

// Start runs a server until the test ends.
func Start(t testing.TB, s Settings) *Server {
	t.Helper()
	if s.Store == "" {
		s.Store = t.TempDir()
	}
	b := &Server{t: t, settings: s, port: server.RANDOM_PORT}
	b.Start()
	t.Cleanup(func() {
		b.Stop()
		outlast()
	})
	return b
}

// outlast waits for SDK goroutines that poll ten times a second whether their connection is closed: in virtual time the
// clock stops for them once a test has ended.
func outlast() {
	if virtual() {
		<-time.After(time.Second)
	}
}

// virtual reports whether this is a bubble, whose clock starts in 2000, see testing/synctest.
func virtual() bool { return time.Now().Year() < 2020 }

// Outside prepares a test that starts a server inside a synctest bubble. Call it before synctest.Test. It keeps the
// server's clock, which ticks for ever, out of the bubble.
//
// It also empties the SDK's pool of timers, which would carry channels from one bubble into another or out of it. No server
// may run outside at the same time, since its clients would fill the pool again.
func Outside(t testing.TB) {
	t.Helper()
	emptyPools()
	ats.Register()
	t.Cleanup(func() {
		ats.Unregister()
		emptyPools()
	})
}

// Virtual runs a test in a bubble of virtual time in which it may start servers.
func Virtual(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	Outside(t)
	synctest.Test(t, f)
}

// emptyPools collects garbage twice: the victim cache of a sync.Pool survives one collection.
func emptyPools() {
	runtime.GC()
	runtime.GC()
}

// Start restarts the server after Stop, with the same folder and port.
func (b *Server) Start() {
	b.t.Helper()
	opts := &server.Options{
		ServerName: "test", Host: "127.0.0.1", Port: b.port, DontListen: b.settings.Quiet, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: b.settings.Store, JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: b.settings.MaxStore,
		SyncAlways: b.settings.SyncAlways, MaxPayload: b.settings.MaxPayload,
		JetStreamLimits: server.JSLimitOpts{DefaultMaxConsumers: b.settings.MaxConsumers},
		Username:        b.settings.User, Password: b.settings.Password,
	}
	if b.settings.Config != "" {
		file, err := server.ProcessConfigFile(b.settings.Config)
		if err != nil {
			b.t.Fatalf("read configuration: %v", err)
		}
		opts.Accounts, opts.Nkeys, opts.Users = file.Accounts, file.Nkeys, file.Users
	}
	if opts.JetStreamMaxStore == 0 {
		opts.JetStreamMaxStore = 64 << 30
	}
	s, err := server.NewServer(opts)
	if err != nil {
		b.t.Fatalf("make server: %v", err)
	}
	s.Start()
	if !s.ReadyForConnections(musttest.Patience) {
		b.t.Fatalf("server is not ready within %s", musttest.Patience)
	}
	b.mu.Lock()
	b.nats = s
	b.mu.Unlock()
	if addr, ok := s.Addr().(*net.TCPAddr); ok && !b.settings.Quiet {
		b.port = addr.Port
	}
}

// Stop ends the server and waits for its end. A second call does nothing.
func (b *Server) Stop() {
	b.mu.Lock()
	s := b.nats
	b.nats = nil
	b.mu.Unlock()
	if s != nil {
		// Let requests of lost clients finish first: a shutdown sleeps under a lock that such a request may need, and
		// virtual time stands still while a goroutine waits for a lock.
		<-time.After(lull)
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// lull is a time at which no timer of the bus is due.
const lull = 1237 * time.Microsecond

// NATS returns the embedded server, or nil while it is stopped.
func (b *Server) NATS() *server.Server {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.nats
}

// InProcessConn returns a connection without a socket. With it, Server is a provider for bus.Options and the SDK.
func (b *Server) InProcessConn() (net.Conn, error) {
	s := b.NATS()
	if s == nil {
		return nil, net.ErrClosed
	}
	return s.InProcessConn()
}

// URL returns the address of the server.
func (b *Server) URL() string {
	if b.settings.Quiet {
		b.t.Fatal("a quiet server has no address")
	}
	return "nats://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(b.port))
}

// Options returns options that connect in process, under a name. In real time a publish waits for its acknowledgement as long as a
// busy machine takes.
func (b *Server) Options(name string) bus.Options {
	o := bus.Options{Name: name, InProcess: b, User: b.settings.User, Password: b.settings.Password}
	if !virtual() {
		o.AckTimeout = musttest.Patience
	}
	return o
}

// Connect opens a bus over its own connection in process, which closes with the test.
func (b *Server) Connect(name string) *bus.Bus {
	b.t.Helper()
	c, err := bus.Connect(b.t.Context(), b.Options(name))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(c.Close)
	return c
}

// Bus is like Connect, with all streams and buckets created.
func (b *Server) Bus(name string) *bus.Bus {
	b.t.Helper()
	c := b.Connect(name)
	if err := c.Streams().Init(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	if b.settings.Quiet {
		<-time.After(sourcing)
	}
	return c
}

// sourcing is how long a new log may take until it sources timers. A server that ends at that moment sleeps under a lock
// that the new source needs, and virtual time stands still while a goroutine waits for a lock.
const sourcing = 300 * time.Millisecond

// Mute makes streams as silent as on a full disk: what is published on their subjects is neither stored nor acknowledged, until end is
// called. What is stored stays.
func (b *Server) Mute(streams ...string) (end func()) {
	b.t.Helper()
	raw, err := nats.Connect("", nats.InProcessServer(b), nats.NoReconnect(), nats.UserInfo(b.settings.User, b.settings.Password))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(raw.Close)
	before := make([][]string, len(streams))
	for i, stream := range streams {
		before[i] = b.rename(raw, stream, []string{"~mute." + stream})
		for _, subject := range before[i] {
			if _, err := raw.Subscribe(subject, func(*nats.Msg) {}); err != nil { // Otherwise the server would answer that there are no responders.
				b.t.Fatal(err)
			}
		}
	}
	if err := raw.Flush(); err != nil {
		b.t.Fatal(err)
	}
	return func() {
		b.t.Helper()
		for i, stream := range streams {
			b.rename(raw, stream, before[i])
		}
	}
}

// rename changes the subjects of a stream and returns those before.
func (b *Server) rename(raw *nats.Conn, stream string, subjects []string) (before []string) {
	b.t.Helper()
	js, err := jetstream.New(raw)
	if err != nil {
		b.t.Fatal(err)
	}
	s, err := js.Stream(b.t.Context(), stream)
	if err != nil {
		b.t.Fatal(err)
	}
	c := s.CachedInfo().Config
	before, c.Subjects = c.Subjects, subjects
	if _, err := js.UpdateStream(b.t.Context(), c); err != nil {
		b.t.Fatal(err)
	}
	return before
}
