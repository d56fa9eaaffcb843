package adapter

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/batch"
	"github.com/jobgraph/jobgraph/pkg/events/kept"
	"github.com/jobgraph/jobgraph/pkg/run/lease"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// Ports implements the loop's ports over one connection, except States, Alarms and Meter.
type Ports struct{ bus *bus.Bus }

// New makes the ports.
func New(b *bus.Bus) Ports { return Ports{b} }

// Publish sends a message that a stream stores.
func (p Ports) Publish(m events.Message, e loop.Expect) loop.Ack {
	if e.Any {
		return p.bus.PublishAsync(m, bus.Expect{})
	}
	return p.bus.PublishAsync(m, bus.Expect{Last: &e.Last, Subject: e.Subject})
}

// Tell sends a message that is not stored.
func (p Ports) Tell(subject string, body []byte) error { return p.bus.PublishCore(subject, nil, body) }

// EventsOf yields a job's events after a sequence, in order.
func (p Ports) EventsOf(ctx context.Context, job string, after uint64) iter.Seq2[events.Event, error] {
	return p.bus.Log().EventsOf(ctx, job, after)
}

// EventAt returns the event with a sequence, or store.ErrNotFound.
func (p Ports) EventAt(ctx context.Context, seq uint64) (events.Event, error) {
	e, err := p.bus.Log().EventAt(ctx, seq)
	return e, err
}

// EndOf returns the event that ended a job, if no request follows it; otherwise the zero event.
func (p Ports) EndOf(ctx context.Context, job string) (events.Event, error) {
	end, err := p.bus.Log().LastOf(ctx, job, events.KindJobFinished, events.KindJobFailed, events.KindJobStopped)
	if err != nil || end.Seq == 0 {
		return events.Event{}, err
	}
	asked, err := p.bus.Streams().LastOn(ctx, p.bus.Names().Log, p.bus.Names().Control(job))
	if err != nil && !errors.Is(err, bus.ErrNotFound) {
		return events.Event{}, err
	}
	if err == nil && asked.Seq > end.Seq {
		return events.Event{}, nil
	}
	return end, nil
}

// Depth reads the queue of a pool. The queue of a pool without a consumer is empty and has no idle worker: on a bus without roles, a
// missing consumer means that no worker has ever read it. An unfetched batch counts as a full one, a fetched batch as one run.
func (p Ports) Depth(ctx context.Context, pool string) (loop.Depth, error) {
	facts, err := p.bus.Queues().Info(ctx, p.bus.Names().Work, p.bus.Queues().PoolConsumer(pool).Durable)
	if errors.Is(err, bus.ErrNotFound) {
		return loop.Depth{}, nil
	}
	depth := loop.Depth{Pending: int(facts.Pending), Taken: facts.Unsettled, Idle: facts.Waiting > 0}
	if err != nil {
		return depth, err
	}
	batches, err := p.bus.Queues().Info(ctx, p.bus.Names().Work, p.bus.Queues().PoolConsumer(batch.Pool(pool)).Durable)
	if errors.Is(err, bus.ErrNotFound) {
		return depth, nil
	}
	depth.Pending += int(batches.Pending) * batch.MostMembers
	depth.Taken += batches.Unsettled
	return depth, err
}

// PurgeRest removes what is left of a job without a request in the log: its events and its saved state. If that state belongs to an
// active job, the log has lost the job, and nothing is removed. A value that is not one of our states stays as well, and only the
// events are removed: the conformance kit saves such values for jobs that have no log.
func (p Ports) PurgeRest(ctx context.Context, job string) error {
	value, _, err := p.bus.State().GetLeader(ctx, job)
	if h, ours := kept.ReadHead(value); err == nil && ours {
		if h.InMotion() {
			return loop.ErrLost
		}
		return p.bus.Retention().PurgeRest(ctx, job)
	}
	if err != nil && !errors.Is(err, bus.ErrNotFound) {
		return fmt.Errorf("purge what is left of job %s: %w", job, err)
	}
	return p.bus.Retention().PurgeStrays(ctx, job)
}

// PurgeWork removes work that no worker has taken yet.
func (p Ports) PurgeWork(ctx context.Context, subject string) error {
	return p.bus.Streams().Purge(ctx, p.bus.Names().Work, subject)
}

// ReapJob removes a job: work, timers, journal, blobs, log, state, in this order, and last the log from the given sequence on.
func (p Ports) ReapJob(ctx context.Context, job string, last uint64) error {
	return p.bus.Retention().ReapJob(ctx, job, last)
}

// Journal returns the records of a SubJob on the subject of a pool.
func (p Ports) Journal(job, subjob, pool string) lease.One {
	return p.bus.Journal(job, subjob).In(pool)
}

// PutBlob stores bytes under their digest, once.
func (p Ports) PutBlob(ctx context.Context, job string, data []byte) (events.Ref, error) {
	return p.bus.Blobs().Put(ctx, job, data)
}

// GetBlob returns the bytes with a digest, or store.ErrNotFound.
func (p Ports) GetBlob(ctx context.Context, job, digest string) ([]byte, error) {
	data, err := p.bus.Blobs().Get(ctx, job, digest)
	return data, err
}
