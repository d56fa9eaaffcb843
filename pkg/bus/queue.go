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

// ConsumerSpec names one durable consumer and how it behaves. Each delivery is settled by itself. One settlement for all
// before it would be wrong here: a reader that takes over gets new messages seconds before the unsettled ones of its
// predecessor, and redeliveries come in no particular order, so it would settle what was never handled.
type ConsumerSpec struct {
	// Stream holds the messages, Durable is the consumer's name.
	Stream, Durable string
	// Filters are the subjects it gets; all of the stream when empty.
	Filters []string
	// AckWait is how long a delivery may stay unsettled before it is redelivered; 30 s when 0.
	AckWait time.Duration
	// MaxAckPending bounds the unsettled deliveries; 16384 when 0.
	MaxAckPending int
	// Bounded leaves the bound of a consumer that exists as it is: another process may have set it.
	Bounded bool
	// Group pins the consumer to one reader at a time, when set; the others stand by. A pin is no lock: it passes on when
	// its reader has not pulled for PinTTL (2 s when 0), alive or not.
	Group  string
	PinTTL time.Duration
	// StartSeq is the first sequence of interest when the consumer is created; 0 for the first there is.
	StartSeq uint64
	// Buffer bounds the messages that wait unread in the client; 512 when 0.
	Buffer int
	// OnDemand fetches nothing ahead: no more is asked for than Next waits for, so that what this reader has no place for
	// goes to another one.
	OnDemand bool
}

const (
	defaultAckWait = 30 * time.Second
	// PoolAckWait is how long work may stay with a runner that gives no sign of life. It is no lease: work that comes back
	// while its claim holds waits for the end of that.
	PoolAckWait      = 5 * time.Second
	defaultInFlight  = 16384
	defaultPinTTL    = 2 * time.Second
	schedulerAckWait = 5 * time.Second
	schedulerBuffer  = 2048
	// BatchLinger is how long a runner that leaves gives back the batches that come yet: schedulers stop sending them before.
	BatchLinger = 2200 * time.Millisecond
	// IntakeAhead is how many requests may be in the hands of schedulers before they are admitted: of more it is not known whose
	// they are.
	IntakeAhead = 32 << 10
	pinGroup    = "active"
	poolDurable = "pool-"
)

// Queues are the durable consumers of one bus: what each has to be, and reading from it.
type Queues struct {
	bus   *Bus
	pulls patience // How long pull requests wait.
}

// PoolConsumer is the one consumer of a pool of our runners; "~planner" is the pool of planners.
func (q *Queues) PoolConsumer(pool string) ConsumerSpec {
	c := q.ForeignConsumer(pool)
	if pool != events.PlannerPool {
		c.AckWait = PoolAckWait
	}
	return c
}

// ForeignConsumer is the one consumer of a pool whose workers are not ours: they have longer to give a sign of life.
func (q *Queues) ForeignConsumer(pool string) ConsumerSpec {
	return ConsumerSpec{Stream: q.bus.names.Work, Durable: poolDurable + pool, Filters: []string{q.bus.names.PoolWork(pool)}, Bounded: true}
}

// IntakeConsumer is the one consumer of job requests.
func (q *Queues) IntakeConsumer() ConsumerSpec {
	return ConsumerSpec{Stream: q.bus.names.Intake, Durable: "intake", Filters: []string{q.bus.names.Request()}, MaxAckPending: IntakeAhead}
}

// SchedulerConsumer is the consumer of partition p of so many: it gets the shards s with s mod of = p.
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
		DeliverPolicy: jetstream.DeliverAllPolicy, Metadata: ours(), Replicas: replicas,
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

// EnsureConsumer creates a consumer, or brings an existing one to the spec where the server allows it; where delivery
// starts is never changed. Errors: ErrNotFound without the stream, ErrRefused, ErrNotPermitted, ErrUnavailable.
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

// EnsurePool creates the consumer of a pool of our runners, or checks it.
func (q *Queues) EnsurePool(ctx context.Context, pool string) error {
	return q.ensurePool(ctx, pool, q.PoolConsumer(pool))
}

// EnsureForeignPool creates the consumer of a pool whose workers are not ours, or checks it.
func (q *Queues) EnsureForeignPool(ctx context.Context, pool string) error {
	return q.ensurePool(ctx, pool, q.ForeignConsumer(pool))
}

// BoundPool makes sure that at most so many runs of a pool are in hand at once, over all of its workers wherever they are; 0 lifts
// the bound. The bound stays until it is set again. What is in hand when it becomes lower is not taken back. ours says whether
// the pool's runners are ours.
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
	return q.EnsureConsumer(ctx, c)
}

// Consume starts reading a consumer that exists. Errors: ErrNotFound, ErrNotPermitted, ErrUnavailable.
func (q *Queues) Consume(ctx context.Context, c ConsumerSpec) (*Subscription, error) {
	if _, err := q.bus.js.Consumer(ctx, c.Stream, c.Durable); err != nil {
		return nil, fmt.Errorf("consume %s of %s: %w", c.Durable, c.Stream, class(err))
	}
	return q.subscribe(source{stream: c.Stream, consumer: c.Durable, group: c.Group, buffer: c.Buffer, demand: c.OnDemand})
}
