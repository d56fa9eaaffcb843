package adapter

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
	"github.com/jobgraph/jobgraph/pkg/service/queue"
)

const (
	// batchesAhead is how many batches are fetched: one is executed while the next one is waiting.
	batchesAhead = 2
	// batchPatience is how long a member of a batch waits for capacity on this runner before it is published again by itself.
	batchPatience = time.Second
	// passBound limits the time for returning what is still in the queue.
	passBound = 2 * time.Second
	// quiet is how long nothing may arrive until a runner that stops considers its queue empty: what the broker counts as delivered
	// may still be on its way.
	quiet = 50 * time.Millisecond
	// recently is how long after the last batch another one may be in flight.
	recently = time.Minute
)

// Batches is the source of the batched work of one pool. It delivers their members as if each had come by itself, and acknowledges
// a batch when all of its members are settled. A member that is given back, or finds no place within a second, is published as a
// separate message, since work waits in the queue of the pool. A batch of a runner that dies is redelivered as a whole; journals
// and saved states tell which of its members are done.
type Batches struct {
	*Pool
	bus     *bus.Bus
	pool    string
	returns returns
	log     *slog.Logger
	// lingers says that schedulers continue when this runner stops; newest is when the latest batch arrived.
	lingers bool
	newest  time.Time

	mu sync.Mutex // Guards the fields below.
	// left are the members that were not taken yet, oldest first.
	left  []member
	timer *time.Timer // Armed while left holds something.
}

// member is one SubJob of a batch, not taken yet.
type member struct {
	batch.Member
	of *held
	at time.Time
}

// OpenBatches makes sure that the consumer of the pool's batches exists and begins to read it. lingers is false for a runner that
// only stops together with all schedulers.
func OpenBatches(ctx context.Context, b *bus.Bus, pool string, lingers bool, log *slog.Logger) (*Batches, error) {
	name := batch.Pool(pool)
	p, err := OpenPool(ctx, b, name, log)
	if err != nil {
		return nil, err
	}
	return &Batches{Pool: p, bus: b, pool: name, returns: returns{put: func(m *batch.Member) func(context.Context) error { return b.Queues().PutBack(pool, m) }, log: log}, lingers: lingers, log: log}, nil
}

// Next implements loop.Source.
func (b *Batches) Next(ctx context.Context, most int) ([]queue.Delivery, error) {
	for {
		if out := b.hand(most); len(out) > 0 {
			return out, nil
		}
		list, err := b.queue.Next(ctx, batchesAhead)
		if err != nil {
			return nil, err
		}
		for i := range list {
			b.unpack(&list[i])
		}
	}
}

// unpack makes the members of a batch available to Next. A message that is not a batch becomes a dead letter.
func (b *Batches) unpack(d *bus.Delivery) {
	members, err := batch.Read(d.Message().Body)
	if err != nil {
		if err := d.Term(err.Error()); err != nil {
			b.log.Warn("cannot dead-letter an unreadable batch", "subject", d.Message().Subject, "error", err)
		}
		return
	}
	of := &held{delivery: d, acks: b.acks, open: len(members)}
	b.newest = time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range members {
		b.left = append(b.left, member{members[i], of, time.Now()})
	}
	if b.timer == nil {
		b.timer = time.AfterFunc(batchPatience, b.overdue)
	}
}

// hand takes up to most of the members that were not taken yet.
func (b *Batches) hand(most int) []queue.Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]queue.Delivery, min(most, len(b.left)))
	for i := range out {
		m := &b.left[i]
		out[i] = queue.Delivery{
			Subject: m.Subject, Body: m.Work, Trace: m.Trace, Count: m.of.delivery.Delivered(), Stored: m.of.delivery.Time(),
			Receipt: &share{member: m.Member, of: m.of, returns: &b.returns},
		}
	}
	b.left = b.left[len(out):]
	if len(b.left) == 0 {
		b.left = nil // Otherwise the array would keep the taken members in memory.
	}
	return out
}

// overdue runs in the timer's goroutine and gives back members that have waited too long.
func (b *Batches) overdue() {
	b.mu.Lock()
	n := 0
	for n < len(b.left) && time.Since(b.left[n].at) >= batchPatience {
		n++
	}
	late := b.left[:n:n]
	b.left, b.timer = b.left[n:], nil
	if len(b.left) > 0 {
		b.timer = time.AfterFunc(batchPatience-time.Since(b.left[0].at), b.overdue)
	}
	b.mu.Unlock()
	for i := range late {
		b.returns.send(&late[i].Member, late[i].of)
	}
}

// Stop implements loop.Source. It publishes as separate messages all members that are here, all that are still in the queue, and all
// that arrive until the schedulers know that this runner takes no more batches: the next reader of the pool may be of a release
// without batches.
func (b *Batches) Stop() {
	b.giveBack()
	if b.lingers && time.Since(b.newest) < recently {
		linger, cancel := context.WithTimeout(context.Background(), bus.BatchLinger)
		var err error
		for err == nil {
			err = b.pass(linger)
		}
		cancel()
	}
	ctx, cancel := context.WithTimeout(context.Background(), passBound)
	defer cancel()
	for {
		facts, err := b.bus.Queues().Info(ctx, b.bus.Names().Work, b.bus.Queues().PoolConsumer(b.pool).Durable)
		if err != nil || facts.Pending == 0 && !b.arrives(ctx) || facts.Pending > 0 && b.pass(ctx) != nil {
			break
		}
	}
	b.returns.wait(ctx)
	b.Pool.Stop()
}

// arrives gives back what comes within a short time, and reports whether anything did.
func (b *Batches) arrives(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	return b.pass(ctx) == nil
}

// pass takes batches and gives all of their members back.
func (b *Batches) pass(ctx context.Context) error {
	list, err := b.queue.Next(ctx, batchesAhead)
	for i := range list {
		b.unpack(&list[i])
	}
	b.giveBack()
	return err
}

// giveBack returns all members that were not taken.
func (b *Batches) giveBack() {
	b.mu.Lock()
	left := b.left
	b.left = nil
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
	b.mu.Unlock()
	for i := range left {
		b.returns.send(&left[i].Member, left[i].of)
	}
}

// held is a batch in progress: it is acknowledged when the last of its members is settled. If a member could not be given back,
// the batch is never acknowledged and comes again as a whole.
type held struct {
	delivery *bus.Delivery
	acks     *acks

	mu   sync.Mutex // Guards open.
	open int
}

func (h *held) settled() error {
	h.mu.Lock()
	h.open--
	over := h.open == 0
	h.mu.Unlock()
	if over {
		return h.acks.add(h.delivery)
	}
	return nil
}

// share is the receipt of one member.
type share struct {
	member  batch.Member
	of      *held
	returns *returns
}

// Ack implements queue.Receipt.
func (s *share) Ack() error { return s.of.settled() }

// InProgress implements queue.Receipt.
func (s *share) InProgress() error { return s.of.delivery.InProgress() }

// Nak implements queue.Receipt: unfinished work is published by itself, at once.
func (s *share) Nak(time.Duration) error {
	s.returns.send(&s.member, s.of)
	return nil
}

// Term implements queue.Receipt: work that cannot be executed is published by itself and rejected as that message.
func (s *share) Term(string) error { return s.Nak(0) }

// returns publishes members as messages of their own.
type returns struct {
	// put publishes a member as a separate message, see Queues.PutBack; wait waits until it is stored.
	put   func(m *batch.Member) (wait func(context.Context) error)
	log   *slog.Logger
	under sync.WaitGroup
}

// send gives a member back. Its batch is notified when the message is stored; the broker treats a repeat as a new message.
func (r *returns) send(m *batch.Member, of *held) {
	wait := r.put(m)
	r.under.Go(func() { // Ends with the ack, or with the timeout of the publisher or of a request.
		err := wait(context.Background())
		if err == nil {
			err = of.settled()
		}
		if err != nil {
			r.log.Warn("cannot return a SubJob of a batch; the batch will be redelivered", "subject", m.Subject, "error", err)
		}
	})
}

// wait waits for the outstanding messages, or for the end of ctx.
func (r *returns) wait(ctx context.Context) {
	done := make(chan struct{})
	go func() { r.under.Wait(); close(done) }() // Ends with the answers.
	select {
	case <-done:
	case <-ctx.Done():
	}
}
