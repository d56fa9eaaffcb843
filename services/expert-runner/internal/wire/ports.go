package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/run"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/loop"
)

// Ports are the loop's, over one connection.
type Ports struct{ bus *bus.Bus }

// New makes the ports.
func New(b *bus.Bus) Ports { return Ports{b} }

// pending gives errors in the loop's words.
type pending struct{ bus.Ack }

// Wait implements lease.Pending.
func (p pending) Wait(ctx context.Context) (uint64, error) {
	seq, err := p.Ack.Wait(ctx)
	return seq, classed(err)
}

func classed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bus.ErrConflict):
		return fmt.Errorf("%w: %w", loop.ErrConflict, err)
	case errors.Is(err, bus.ErrTooLarge):
		return fmt.Errorf("%w: %w", loop.ErrTooLarge, err)
	case errors.Is(err, bus.ErrNotFound):
		return fmt.Errorf("%w: %w", loop.ErrNotFound, err)
	}
	return err
}

// Read implements lease.Journal. A record that cannot be read counts for nothing but its sequence.
func (p Ports) Read(ctx context.Context, job, subjob string) ([]run.Entry, error) {
	list, _, err := p.bus.Journal(job, subjob).Read(ctx)
	return list, err
}

// Clock implements lease.Journal.
func (p Ports) Clock(ctx context.Context) (now, since time.Time, err error) { return p.bus.Clock(ctx) }

// Append implements lease.Journal.
func (p Ports) Append(job, subjob string, r events.JournalRecord, last uint64) lease.Pending {
	return pending{p.bus.Journal(job, subjob).AppendAsync(r, last)}
}

// Once implements loop.Log.
func (p Ports) Once(e events.Event) (lease.Pending, error) {
	m, err := events.Encode(p.bus.Names(), e)
	if err != nil {
		return nil, err
	}
	if e.Kind == events.KindSubJobReported {
		m.Header[events.HeaderMsgID] = []string{e.ID}
	}
	return pending{p.bus.PublishAsync(m, bus.ExpectNone())}, nil
}

// State implements loop.Log.
func (p Ports) State(e events.Event) {
	if m, err := events.Encode(p.bus.Names(), e); err == nil {
		p.bus.PublishAsync(m, bus.Expect{})
	}
}

// Live implements loop.Log.
func (p Ports) Live(job, subjob string, body []byte) {
	_ = p.bus.PublishCore(p.bus.Names().Live(job, subjob), nil, body) // Best effort.
}

// States implements loop.States.
type States struct{ bus *bus.Bus }

// NewStates reads from the bucket of states.
func NewStates(b *bus.Bus) States { return States{b} }

// State implements loop.States.
func (s States) State(ctx context.Context, job string) ([]byte, error) {
	value, _, err := s.bus.State().GetLeader(ctx, job)
	if errors.Is(err, bus.ErrNotFound) {
		return nil, nil
	}
	return value, err
}

// Reported implements loop.States.
func (s States) Reported(ctx context.Context, job, subjob string, run int) (bool, error) {
	names := s.bus.Names()
	_, err := s.bus.Streams().LastOn(ctx, names.Log, names.RunEvent(job, events.KindSubJobReported, subjob, run))
	if errors.Is(err, bus.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Blobs implements loop.Blobs.
type Blobs struct{ bus *bus.Bus }

// NewBlobs keeps payloads in the object store.
func NewBlobs(b *bus.Bus) Blobs { return Blobs{b} }

// Put implements loop.Blobs.
func (s Blobs) Put(ctx context.Context, job string, data []byte) (events.Ref, error) {
	ref, err := s.bus.Blobs().Put(ctx, job, data)
	return ref, classed(err)
}

// Get implements loop.Blobs.
func (s Blobs) Get(ctx context.Context, job, digest string) ([]byte, error) {
	data, err := s.bus.Blobs().Get(ctx, job, digest)
	return data, classed(err)
}

// Store implements loop.Files.
func (s Blobs) Store(ctx context.Context, job string, file io.ReadSeeker) (events.Ref, error) {
	ref, err := s.bus.Blobs().PutFrom(ctx, job, file)
	return ref, classed(err)
}

// Fetch implements loop.Files.
func (s Blobs) Fetch(ctx context.Context, job, digest string, w io.Writer) error {
	return classed(s.bus.Blobs().GetTo(ctx, job, digest, w))
}

// Documents implements loop.Knowledge.
func (s Blobs) Documents(ctx context.Context, session string) ([]events.Ref, error) {
	list, err := s.bus.Documents().List(ctx, session)
	return list, classed(err)
}

// Document implements loop.Knowledge.
func (s Blobs) Document(ctx context.Context, session, digest string) ([]byte, error) {
	data, err := s.bus.Documents().Get(ctx, session, digest)
	return data, classed(err)
}

// receipt settles one delivery.
type receipt struct {
	*bus.Delivery
	acks *acks
}

// Settle implements loop.Receipt.
func (r receipt) Settle(a loop.Answer) error {
	switch a.Verb {
	case loop.Ack:
		return r.acks.add(r.Delivery)
	case loop.Nak:
		return r.Nak(a.Delay)
	case loop.Progress:
		return r.InProgress()
	case loop.Term:
		return r.Term(a.Reason)
	}
	return fmt.Errorf("settle: unknown verb %q", a.Verb)
}

// retryConsume is the wait before a consumer that was lost is asked for again.
const retryConsume = time.Second
