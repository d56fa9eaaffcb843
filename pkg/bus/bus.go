package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Bus is one connection to the bus under one prefix: its life cycle, publishing, and core messages. Everything else is in
// its parts; each part owns its state.
type Bus struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	names    events.Names
	logger   *slog.Logger
	replicas int
	pub      *publisher
	log      *Log
	queues   *Queues
	served   *served
	asides   *asideQueue // The queue of dead letters that this process stores.
	items    *Items
	owned    bool
	denials  *denials
	sealing  *sealing
	status   chan nats.Status
	watched  chan struct{} // Closed when the goroutine of watch has ended.
	roamed   chan struct{} // Closed when the goroutine of roam has ended.
	closed   chan struct{} // Closed when the connection is closed for good.
	ending   sync.Once     // Guards the closing of closed.

	mu          sync.Mutex // Guards reconnected; never held while a callback runs.
	reconnected map[int]func()

	presence    presence
	nextHandler int
}

// Log returns the log of events.
func (b *Bus) Log() *Log { return b.log }

// Queues returns the durable consumers: of requests, of work, and of the log by schedulers.
func (b *Bus) Queues() *Queues { return b.queues }

// Items returns the access to live items.
func (b *Bus) Items() *Items { return b.items }

// Streams returns all streams and buckets, for setup and administration.
func (b *Bus) Streams() Streams { return Streams{b} }

// Blobs returns the access to the blobs of jobs.
func (b *Bus) Blobs() Blobs { return Blobs{bus: b} }

// Documents returns the access to the documents of bases of knowledge.
func (b *Bus) Documents() Documents { return Documents{b} }

// Timers returns the access to the timers of jobs.
func (b *Bus) Timers() Timers { return Timers{b} }

// DeadLetters returns the access to messages that no service could handle.
func (b *Bus) DeadLetters() DeadLetters { return DeadLetters{b} }

// Services returns the access to request and reply.
func (b *Bus) Services() Services { return Services{b} }

// Retention returns the operations that delete jobs.
func (b *Bus) Retention() Retention { return Retention{b} }

// Connect connects to the bus. It retries until it succeeds or ctx ends; rejected credentials end it at once. An open
// connection reconnects for ever. Errors: ErrNotPermitted, ErrUnavailable, also with ErrSlow.
func Connect(ctx context.Context, o Options) (*Bus, error) {
	if err := o.fill(); err != nil {
		return nil, fmt.Errorf("connect to the bus: %w", err)
	}
	opts, err := o.nats()
	if err != nil {
		return nil, fmt.Errorf("connect to the bus: %w", err)
	}
	for attempt := 0; ; attempt++ {
		nc, err := nats.Connect(o.URL, opts...)
		if err == nil {
			return newBus(nc, o, true)
		}
		fault := class(err)
		if slow(err) {
			fault = fmt.Errorf("%w: %w", fault, ErrSlow)
		}
		if errors.Is(fault, ErrNotPermitted) || ctx.Err() != nil {
			return nil, fmt.Errorf("connect to the bus: %w", fault)
		}
		if attempt%10 == 0 {
			o.Logger.Warn("bus unreachable; retrying", "error", err)
		}
		retry := time.NewTimer(reconnectDelay(attempt))
		select {
		case <-ctx.Done():
			retry.Stop()
			return nil, fmt.Errorf("connect to the bus: %w", fault)
		case <-retry.C:
		}
	}
}

// Use makes a Bus from the caller's connection, which the caller closes after Close. The default prefix is "jobs".
func Use(nc *nats.Conn, prefix string) (*Bus, error) {
	o := Options{Prefix: prefix}
	if err := o.fill(); err != nil {
		return nil, fmt.Errorf("use connection: %w", err)
	}
	return newBus(nc, o, false)
}

func newBus(nc *nats.Conn, o Options, owned bool) (*Bus, error) {
	b := &Bus{
		nc: nc, names: events.NewNames(o.Prefix), asides: newAsideQueue(), logger: o.Logger, replicas: o.Replicas, owned: owned, denials: o.denials, sealing: o.sealing,
		watched: make(chan struct{}), roamed: make(chan struct{}), closed: make(chan struct{}), reconnected: map[int]func(){},
	}
	b.queues = &Queues{bus: b, pulls: remote}
	if o.InProcess != nil && nc.ConnectedClusterName() == "" {
		b.queues.pulls = embedded
	}
	b.served = newServed(b.queues)
	b.log = &Log{bus: b, lifecycle: newLifecycle(b), news: &JobWatcher{bus: b, stream: b.names.Log, filters: []string{b.names.AllEvents()}, token: jobToken}}
	b.items = newItems(b)
	js, err := jetstream.New(nc)
	if b.js = (asking{js, nc, o.denials}); err == nil {
		b.pub, err = newPublisher(nc, &o, b.taken)
	}
	if err != nil {
		if owned {
			nc.Close()
		}
		return nil, fmt.Errorf("connect to the bus: %w", class(err))
	}
	o.denials.on("", b.pub.deny)
	b.status = nc.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED, nats.CONNECTED, nats.CLOSED)
	b.presence.interrupted()
	go b.watch()
	if owned && o.InProcess == nil {
		go b.roam()
	} else {
		close(b.roamed)
	}
	return b, nil
}

// watch handles connection events until Close: a disconnect makes the outcome of every pending publish unknown, a reconnect
// calls the registered callbacks.
func (b *Bus) watch() {
	defer close(b.watched)
	for status := range b.status {
		b.presence.interrupted()
		switch status {
		case nats.CONNECTED:
			b.logger.Info("bus reconnected")
			b.served.forget()
			b.pub.forget()
			for _, f := range b.handlers() {
				f()
			}
		case nats.CLOSED:
			b.ending.Do(func() { close(b.closed) })
			b.pub.fail(fmt.Errorf("%w: connection closed", ErrUnknown))
		default:
			b.pub.fail(fmt.Errorf("%w: connection lost", ErrUnknown))
		}
	}
}

func (b *Bus) handlers() []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]func(), 0, len(b.reconnected))
	for _, f := range b.reconnected {
		list = append(list, f)
	}
	return list
}

// Names returns the names of subjects, streams and buckets under this prefix.
func (b *Bus) Names() events.Names { return b.names }

// Ready returns nil while the connection is up, else ErrUnavailable or ErrClosed.
func (b *Bus) Ready() error {
	switch b.nc.Status() {
	case nats.CONNECTED:
		return nil
	case nats.CLOSED:
		return fmt.Errorf("bus: %w", ErrClosed)
	}
	if err := b.nc.LastError(); err != nil {
		return fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
	return fmt.Errorf("%w: reconnecting", ErrUnavailable)
}

// OnReconnect calls f after each reconnect until stop is called. All calls come from one goroutine; f must not block.
func (b *Bus) OnReconnect(f func()) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := b.nextHandler
	b.nextHandler++
	b.reconnected[id] = f
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.reconnected, id)
	}
}

// Flush waits until the server has received everything that was sent.
func (b *Bus) Flush(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := b.nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("flush: %w", class(err))
	}
	return nil
}

// Close sends what is buffered, for at most a second, and closes the connection unless the caller owns it. Publishes
// without an acknowledgement end with ErrUnknown.
func (b *Bus) Close() {
	b.pub.close()
	b.served.close()
	b.ending.Do(func() { close(b.closed) })
	if b.owned {
		if b.nc.IsConnected() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_ = b.nc.FlushWithContext(ctx) // The server may be gone; closing matters more.
			cancel()
		}
		b.nc.Close()
	}
	b.nc.RemoveStatusListener(b.status)
	<-b.watched
	<-b.roamed
}
