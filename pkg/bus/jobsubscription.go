package bus

import (
	"context"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// ownConsumers is how many jobs are followed at once through a consumer of their own, which brings their events and no other.
// More share one, which tells what is new in all jobs: it brings more than is wanted, but a stream's consumers are limited.
const ownConsumers = 4

// JobSubscription gives the events of one job, those that are there and those to come. It belongs to one goroutine.
type JobSubscription struct {
	bus *Bus
	job string
	// sub is nil for one that shares, and reads from the log what news says is behind after.
	sub   *Subscription
	news  *Listener
	after uint64
}

// FollowJob reads the log of a job from a sequence on (0: from the first), in order, without gaps and without end. The job
// need not exist yet. Stop has to follow. Errors: ErrRefused for what is no id, and those of Follow.
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

// Next blocks until there are events that it has not given yet. Errors: those of Subscription.Next, and of EventsOf.
func (l *JobSubscription) Next(ctx context.Context) ([]events.Event, error) {
	for {
		list, err := l.look(ctx)
		if err != nil || len(list) > 0 {
			return list, err
		}
		if l.news == nil {
			continue // What came was none of the log.
		}
		if _, err := l.news.Next(ctx); err != nil {
			return nil, err
		}
	}
}

// look gives what there is: through a consumer of its own it waits for that.
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

// Stop ends the reading.
func (l *JobSubscription) Stop() {
	if l.sub != nil {
		l.sub.Stop()
	} else {
		l.news.Stop()
	}
	l.bus.log.followed.Add(-1)
}
