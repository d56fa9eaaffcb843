package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/jobgraph/jobgraph/pkg/bus"
)

// serverReady limits the start of a server.
const serverReady = 10 * time.Second

// startServer runs a server with JetStream in a folder; with listen on a free loopback port, else in process only.
func startServer(o order, listen bool) (*server.Server, error) {
	settings := &server.Options{
		ServerName: "bench", Host: "127.0.0.1", Port: server.RANDOM_PORT, DontListen: !listen, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: o.Store, SyncAlways: o.SyncAlways,
	}
	if err := admit(settings, o.Secure); err != nil {
		return nil, err
	}
	s, err := server.NewServer(settings)
	if err != nil {
		return nil, fmt.Errorf("make server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(serverReady) {
		s.Shutdown()
		return nil, errors.New("server is not ready: is the folder for the store writable and the disk not full?")
	}
	return s, nil
}

// newLog writes warnings for people.
func newLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// stopServer ends a server and waits for its end.
func stopServer(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// address is how to connect to the server of a trial: the server itself in embedded mode, else its URL.
type address struct {
	embedded *server.Server
	url      string
	log      *slog.Logger // The log of the services.
	secure   string       // The folder of keys, empty for none.
}

// dial connects for the floor and for the driver.
func (a address) dial(name string) (*nats.Conn, error) {
	opts := []nats.Option{nats.Name(name)}
	if a.embedded != nil {
		opts = append(opts, nats.InProcessServer(a.embedded))
	}
	if who := identities[name]; a.secure != "" {
		key, err := nats.NkeyOptionFromSeed(seedFile(a.secure, who))
		if err != nil {
			return nil, fmt.Errorf("connect %s: %w", name, err)
		}
		opts = append(opts, key, nats.CustomInboxPrefix("_INBOX_"+who))
	}
	nc, err := nats.Connect(a.url, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", name, err)
	}
	return nc, nil
}

// bus connects a service of Jobgraph.
func (a address) bus(ctx context.Context, name string) (*bus.Bus, error) {
	o := bus.Options{URL: a.url, Name: name, Logger: a.log}
	if a.embedded != nil {
		o.InProcess = a.embedded
	}
	if who := identities[name]; a.secure != "" {
		o.NKey, o.InboxPrefix, o.Signers = seedFile(a.secure, who), "_INBOX_"+who, filepath.Join(a.secure, signersFile)
	}
	return bus.Connect(ctx, o)
}
