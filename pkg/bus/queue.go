package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// ConsumerSpec describes one durable consumer. Each delivery is settled individually. Settling all earlier ones together
// would be wrong: a reader that takes over gets new messages seconds before its predecessor's unsettled ones, and
// redeliveries come in no particular order, so it would settle messages that were never handled.
type ConsumerSpec struct {
	// Stream is the stream to read, Durable the consumer's name.
	Stream, Durable string
	// Filters are the subjects to deliver; all of the stream if empty.
	Filters []string
	// AckWait is how long a delivery may stay unsettled before it is redelivered; 0 means 30 s.
	AckWait time.Duration
	// MaxAckPending limits the unsettled deliveries; 0 means 16384.
	MaxAckPending int
	// Bounded keeps the limit of an existing consumer, because another process may have set it.
	Bounded bool
	// Group, if set, pins the consumer to one reader at a time; the others stand by. A pin is not a lock: another reader
	// gets it when its reader has not pulled for PinTTL (0 means 2 s), alive or not.
	Group  string
	PinTTL time.Duration
	// StartSeq is the first sequence to deliver when the consumer is created; 0 means the first that exists.
	StartSeq uint64
	// Buffer limits the unread messages in the client; 0 means 512.
	Buffer int
	// OnDemand fetches nothing ahead: it requests only what Next waits for, so that other readers get the rest.
	OnDemand bool
	// Idle is how long the server keeps the consumer without a reader; 0 means for ever.
	Idle time.Duration
}

const (
	defaultAckWait = 30 * time.Second
	// PoolAckWait is how long work may stay with a runner that sends no heartbeat. It is not the lease: work that is
	// redelivered while its claim holds has to wait for the end of the claim.
	PoolAckWait      = 5 * time.Second
	defaultInFlight  = 16384
	defaultPinTTL    = 2 * time.Second
	schedulerAckWait = 5 * time.Second
	schedulerBuffer  = 2048
	// BatchLinger is how long a leaving runner keeps returning batches that still arrive. Schedulers stop sending them
	// before that.
	BatchLinger = 2200 * time.Millisecond
	// IntakeAhead limits the requests that schedulers hold before admission. It matters because the owner of unadmitted
	// requests is unknown.
	IntakeAhead = 32 << 10
	pinGroup    = "active"
	poolDurable = "pool-"
)

// Queues are the durable consumers of one bus: their specifications, and reading from them.
type Queues struct {
	bus   *Bus
	pulls patience // How long pull requests stay open.
}

// PoolConsumer returns the only consumer of a pool of our runners; "~planner" is the pool of planners.
func (q *Queues) PoolConsumer(pool string) ConsumerSpec {
	c := q.ForeignConsumer(pool)
	if pool != events.PlannerPool {
		c.AckWait = PoolAckWait
	}
	return c
}

// ForeignConsumer returns the only consumer of a pool of third-party workers, which have more time for a heartbeat.
func (q *Queues) ForeignConsumer(pool string) ConsumerSpec {
	return ConsumerSpec{Stream: q.bus.names.Work, Durable: poolDurable + pool, Filters: []string{q.bus.names.PoolWork(pool)}, Bounded: true}
}

// IntakeConsumer returns the only consumer of job requests.
func (q *Queues) IntakeConsumer() ConsumerSpec {
	return ConsumerSpec{Stream: q.bus.names.Intake, Durable: "intake", Filters: []string{q.bus.names.Request()}, MaxAckPending: IntakeAhead}
}

// SchedulerConsumer is the consumer of partition p, where of is the number of partitions: it gets the shards s with s
// mod of = p.
func (q *Queues) SchedulerConsumer(p, of int) ConsumerSpec {
	c := ConsumerSpec{
		Stream: q.bus.names.Log, Durable: schedulerDurable(p, of), Filters: []string{q.bus.names.AllEvents()},
		AckWait: schedulerAckWait, Group: pinGroup, Buffer: schedulerBuffer,
	}
	if of > 1 {
		c.Filters = nil
		for shard := p; shard < events.Shards; shard += of {
			c.Filters = append(c.Filters, q.bus.names.ShardEvents(shard))
		}
	}
	return c
}

func schedulerDurable(p, of int) string {
	return "scheduler-" + strconv.Itoa(p) + "of" + strconv.Itoa(of)
}

func (c *ConsumerSpec) config(replicas int) jetstream.ConsumerConfig {
	cfg := jetstream.ConsumerConfig{
		Durable: c.Durable, FilterSubjects: c.Filters, AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.AckWait,
		MaxDeliver: -1, MaxAckPending: c.MaxAckPending, ReplayPolicy: jetstream.ReplayInstantPolicy,
		DeliverPolicy: jetstream.DeliverAllPolicy, Metadata: ours(), Replicas: replicas, InactiveThreshold: c.Idle,
	}
	if len(c.Filters) == 1 {
		cfg.FilterSubject, cfg.FilterSubjects = c.Filters[0], nil
	}
	if cfg.AckWait == 0 {
		cfg.AckWait = defaultAckWait
	}
	if cfg.MaxAckPending == 0 {
		cfg.MaxAckPending = defaultInFlight
	}
	if c.Group != "" {
		cfg.PriorityPolicy, cfg.PriorityGroups, cfg.PinnedTTL = jetstream.PriorityPolicyPinned, []string{c.Group}, c.PinTTL
		if cfg.PinnedTTL == 0 {
			cfg.PinnedTTL = defaultPinTTL
		}
	}
	if c.StartSeq > 0 {
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, c.StartSeq
	}
	return cfg
}

// EnsureConsumer creates a consumer, or updates an existing one as far as the server allows; the start of delivery never
// changes. Errors: ErrNotFound without the stream, ErrRefused, ErrNotPermitted, ErrUnavailable.
func (q *Queues) EnsureConsumer(ctx context.Context, c ConsumerSpec) error {
	want := c.config(0)
	found, err := q.bus.js.Consumer(ctx, c.Stream, c.Durable)
	switch {
	case err == nil:
		have := found.CachedInfo().Config
		if c.Bounded {
			want.MaxAckPending = have.MaxAckPending
		}
		if sameConsumer(&have, &want) {
			return nil
		}
		want.DeliverPolicy, want.OptStartSeq, want.OptStartTime = have.DeliverPolicy, have.OptStartSeq, have.OptStartTime
		want.Replicas = have.Replicas
		_, err = q.bus.js.UpdateConsumer(ctx, c.Stream, want)
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		_, err = q.bus.js.CreateOrUpdateConsumer(ctx, c.Stream, want)
	}
	if err != nil {
		return fmt.Errorf("ensure consumer %s of %s: %w", c.Durable, c.Stream, class(err))
	}
	return nil
}

func sameConsumer(have, want *jetstream.ConsumerConfig) bool {
	return have.FilterSubject == want.FilterSubject && slices.Equal(have.FilterSubjects, want.FilterSubjects) &&
		have.AckPolicy == want.AckPolicy && have.AckWait == want.AckWait && have.MaxAckPending == want.MaxAckPending &&
		have.MaxDeliver == want.MaxDeliver && have.PriorityPolicy == want.PriorityPolicy &&
		slices.Equal(have.PriorityGroups, want.PriorityGroups) && have.PinnedTTL == want.PinnedTTL
}

// EnsurePool creates or checks the consumer of a pool of our runners.
func (q *Queues) EnsurePool(ctx context.Context, pool string) error {
	return q.ensurePool(ctx, pool, q.PoolConsumer(pool))
}

// EnsureForeignPool creates or checks the consumer of a pool of third-party workers.
func (q *Queues) EnsureForeignPool(ctx context.Context, pool string) error {
	return q.ensurePool(ctx, pool, q.ForeignConsumer(pool))
}

// BoundPool limits how many runs of a pool may execute at once, over all workers; 0 removes the limit. The limit stays
// until it is set again. Lowering it takes no running work back. ours says whether the runners of the pool are ours.
func (q *Queues) BoundPool(ctx context.Context, pool string, most int, ours bool) error {
	c := q.ForeignConsumer(pool)
	if ours {
		c = q.PoolConsumer(pool)
	}
	c.MaxAckPending, c.Bounded = most, false
	return q.ensurePool(ctx, pool, c)
}

func (q *Queues) ensurePool(ctx context.Context, pool string, c ConsumerSpec) error {
	if !events.ValidToken(pool) {
		return fmt.Errorf("ensure pool %.80q: %w: want 1 to %d of the characters A-Z a-z 0-9 _ -", pool, ErrRefused, events.MaxID)
	}
	err := q.EnsureConsumer(ctx, c)
	if errors.Is(err, ErrNotPermitted) {
		return q.submitPool(ctx, pool, c)
	}
	return err
}

// Consume starts reading an existing consumer. Errors: ErrNotFound, ErrNotPermitted, ErrUnavailable.
func (q *Queues) Consume(ctx context.Context, c ConsumerSpec) (*Subscription, error) {
	if _, err := q.bus.js.Consumer(ctx, c.Stream, c.Durable); err != nil {
		return nil, fmt.Errorf("consume %s of %s: %w", c.Durable, c.Stream, class(err))
	}
	return q.subscribe(source{stream: c.Stream, consumer: c.Durable, group: c.Group, buffer: c.Buffer, demand: c.OnDemand})
}
