package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// EnsurePartitions creates the consumers of scheduler partitions, whose number is of. If consumers of other partition counts
// exist, new consumers start after the lowest of their acknowledgement floors, so that nothing is skipped; events that both
// deliver do no harm. RetirePartitions removes the others once they are unused.
func (q *Queues) EnsurePartitions(ctx context.Context, of int) ([]ConsumerSpec, error) {
	if of < 1 || of > 64 || 64%of != 0 {
		return nil, fmt.Errorf("ensure %d partitions: %w: want a divisor of 64", of, ErrRefused)
	}
	have, start, err := q.partitions(ctx)
	if err != nil {
		return nil, err
	}
	specs := make([]ConsumerSpec, of)
	for p := range specs {
		specs[p] = q.SchedulerConsumer(p, of)
		if have[specs[p].Durable] == nil {
			specs[p].StartSeq = start
		}
		if err := q.EnsureConsumer(ctx, specs[p]); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// partitions lists the existing scheduler consumers, and returns where a new one has to start.
func (q *Queues) partitions(ctx context.Context) (have map[string]*jetstream.ConsumerInfo, start uint64, err error) {
	stream, err := q.bus.js.Stream(ctx, q.bus.names.Log)
	if err != nil {
		return nil, 0, fmt.Errorf("list partitions: %w", class(err))
	}
	have = map[string]*jetstream.ConsumerInfo{}
	list := stream.ListConsumers(undated{ctx})
	for info := range list.Info() {
		if !isPartition(info.Name) {
			continue
		}
		have[info.Name] = info
		if floor := info.AckFloor.Stream + 1; start == 0 || floor < start {
			start = floor
		}
	}
	if err := list.Err(); err != nil {
		return nil, 0, fmt.Errorf("list partitions: %w", class(err))
	}
	return have, start, nil
}

// Settled returns, for each shard, the log sequence up to which schedulers have settled everything; later events may still
// be delivered. It is 0 if no scheduler has a consumer. It does not rely on the number of pending messages, which the
// server updates only a moment after it stores a message. Errors: ErrNotFound, ErrUnavailable.
func (q *Queues) Settled(ctx context.Context) (by [events.Shards]uint64, err error) {
	have, _, err := q.partitions(ctx)
	if err != nil {
		return by, err
	}
	var seen [events.Shards]bool
	for _, info := range have { // any order: the least of all is the same in each
		filters := append(info.Config.FilterSubjects, info.Config.FilterSubject)
		for shard := range by {
			if !slices.Contains(filters, q.bus.names.AllEvents()) && !slices.Contains(filters, q.bus.names.ShardEvents(shard)) {
				continue
			}
			if !seen[shard] || info.AckFloor.Stream < by[shard] {
				seen[shard], by[shard] = true, info.AckFloor.Stream
			}
		}
	}
	return by, nil
}

func isPartition(durable string) bool {
	rest, ok := strings.CutPrefix(durable, "scheduler-")
	return ok && strings.Contains(rest, "of")
}

// partitionIdle is how long a consumer of another partition count must be unused before it is deleted: a running scheduler
// always has a waiting pull request.
const partitionIdle = time.Minute

// RetirePartitions deletes the scheduler consumers of other partition counts that were unused for a minute and have no
// waiting reader. Those of running schedulers stay. Errors: ErrNotPermitted, ErrUnavailable.
func (q *Queues) RetirePartitions(ctx context.Context, of int) error {
	have, _, err := q.partitions(ctx)
	if err != nil {
		return err
	}
	for p := range of {
		delete(have, schedulerDurable(p, of))
	}
	for durable, info := range have {
		if !abandoned(info, time.Now()) {
			continue
		}
		if err := q.bus.js.DeleteConsumer(ctx, q.bus.names.Log, durable); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return fmt.Errorf("retire partition %s: %w", durable, class(err))
		}
	}
	return nil
}

func abandoned(info *jetstream.ConsumerInfo, now time.Time) bool {
	last := info.Created
	if info.Delivered.Last != nil {
		last = *info.Delivered.Last
	}
	return info.NumWaiting == 0 && now.Sub(last) >= partitionIdle
}
