package bus

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// ownConsumers is how many jobs may be followed at once by a consumer of their own, which delivers only their events.
// Further ones share a consumer that announces new events of all jobs: that is less efficient, but the consumers of a
// stream are limited.
const ownConsumers = 4

// JobSubscription reads the events of one job, present and future. It belongs to one goroutine.
type JobSubscription struct {
	bus *Bus
	job string
	// sub is nil if the subscription shares a consumer. Then it reads the events after the sequence in after from the log,
	// when news announces some.
	sub   *Subscription
	news  *Listener
	after uint64
}

// FollowJob reads the log of a job from a sequence on (0: from the first), in order, without gaps and without end. The job
// need not exist yet. The caller must call Stop. Errors: ErrRefused for an invalid id, and those of Follow.
func (l *Log) FollowJob(ctx context.Context, job string, from uint64) (*JobSubscription, error) {
	if err := validJob(job); err != nil {
		return nil, fmt.Errorf("follow a job: %w", err)
	}
	of := &JobSubscription{bus: l.bus, job: job, after: max(from, 1) - 1}
	var err error
	if l.followed.Add(1) <= ownConsumers {
		of.sub, err = l.Follow(ctx, l.bus.names.JobEvents(job), FollowOptions{StartSeq: from})
	} else {
		of.news, err = l.news.Listen(ctx, job)
	}
	if err != nil {
		l.followed.Add(-1)
		return nil, err
	}
	return of, nil
}

// Next blocks until there are new events. Errors: those of Subscription.Next, and of EventsOf.
func (l *JobSubscription) Next(ctx context.Context) ([]events.Event, error) {
	for {
		list, err := l.look(ctx)
		if err != nil || len(list) > 0 {
			return list, err
		}
		if l.news == nil {
			continue // The message is not an event of the log.
		}
		if _, err := l.news.Next(ctx); err != nil {
			return nil, err
		}
	}
}

// look returns new events; with a consumer of its own it waits for them.
func (l *JobSubscription) look(ctx context.Context) (list []events.Event, err error) {
	if l.sub == nil {
		for e, err := range l.bus.Log().EventsOf(ctx, l.job, l.after) {
			if err != nil {
				return nil, err
			}
			list, l.after = append(list, e), e.Seq
		}
		return list, nil
	}
	batch, err := l.sub.Next(ctx, watchBatch)
	for i := range batch {
		if e, ok := batch[i].Event(); ok {
			list = append(list, e)
		}
	}
	return list, err
}

// Stop ends the subscription.
func (l *JobSubscription) Stop() {
	if l.sub != nil {
		l.sub.Stop()
	} else {
		l.news.Stop()
	}
	l.bus.log.followed.Add(-1)
}
