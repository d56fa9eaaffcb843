package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// Events yields a job's events after a sequence, in order, up to now. Plan references are resolved. Errors: ErrNotFound if
// the log has none at all, and those of the bus.
func (c *Client) Events(ctx context.Context, job string, after uint64) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		if err := checkID(job); err != nil {
			yield(events.Event{}, err)
			return
		}
		found := after > 0
		for e, err := range joblog.Resolved(c.bus.Log().EventsOf(ctx, job, after), c.Logs().payloads(ctx, job)) {
			if found = true; !yield(e, err) || err != nil {
				return
			}
		}
		if !found {
			yield(events.Event{}, notFound(job))
		}
	}
}

// Watch yields a job's events from a sequence on (0: from the first), and then each new one as it is stored, until the
// caller stops or ctx ends, which is then the last error. It waits for a job that does not exist yet.
func (c *Client) Watch(ctx context.Context, job string, from uint64) iter.Seq2[events.Event, error] {
	return func(yield func(events.Event, error) bool) {
		fail := func(err error) { yield(events.Event{}, err) }
		if err := checkID(job); err != nil {
			fail(err)
			return
		}
		log, err := c.bus.Log().FollowJob(ctx, job, from)
		if err != nil {
			fail(fmt.Errorf("watch job %s: %w", job, err))
			return
		}
		defer log.Stop()
		for {
			list, err := log.Next(ctx)
			if err != nil {
				fail(fmt.Errorf("watch job %s: %w", job, err))
				return
			}
			for i := range list {
				err := joblog.Resolve(&list[i], c.Logs().payloads(ctx, job))
				if !yield(list[i], err) || err != nil {
					return
				}
			}
		}
	}
}

// Ended reports whether an event is the end of its job, and returns its payload.
func Ended(e events.Event) (*events.JobEnded, bool) {
	ended, ok := e.Data.(*events.JobEnded)
	return ended, ok
}

// endAfter returns the end of a job after one more event: the new end, none after a recovery, else the previous one.
func endAfter(before *events.JobEnded, e events.Event) *events.JobEnded {
	if end, ok := Ended(e); ok {
		return end
	}
	if e.Kind == events.KindJobRecovered {
		return nil
	}
	return before
}

// Wait blocks until the job has ended and returns how it ended. Errors: ErrNotFound for a job that does not exist, the
// context's, and those of the bus.
func (c *Client) Wait(ctx context.Context, job string) (*events.JobEnded, error) {
	ended, after, err := c.lastEnd(ctx, job)
	if ended != nil || err != nil {
		return ended, err
	}
	return c.endBehind(ctx, job, after)
}

// endBehind blocks until a job ends after a sequence. All waiting callers share one consumer.
func (c *Client) endBehind(ctx context.Context, job string, after uint64) (*events.JobEnded, error) {
	news, err := c.bus.Log().Lifecycle().Listen(ctx, job)
	if err != nil {
		return nil, fmt.Errorf("wait for job %s: %w", job, err)
	}
	defer news.Stop()
	last := func() (events.Event, error) {
		return c.bus.Log().LastOf(ctx, job, events.KindJobFinished, events.KindJobFailed, events.KindJobStopped)
	}
	ended, err := awaitEnd(ctx, after, last, news.Next)
	if err != nil {
		return nil, fmt.Errorf("wait for job %s: %w", job, err)
	}
	return ended, nil
}

// The pauses between two reads of the log without a notification. In a cluster a notification may come from a server that
// is ahead of the one that is read; without further reads the caller would then wait for ever.
const lookFirst, lookMost = 100 * time.Millisecond, 30 * time.Second

// awaitEnd reads the end after a sequence at each notification, and from time to time without one.
func awaitEnd(ctx context.Context, after uint64, last func() (events.Event, error), next func(context.Context) (uint64, error)) (*events.JobEnded, error) {
	for pause := lookFirst; ; pause = min(2*pause, lookMost) {
		end, err := last()
		if err != nil {
			return nil, err
		}
		if ended, ok := Ended(end); ok && end.Seq > after {
			return ended, nil
		}
		soon, cancel := context.WithTimeout(ctx, pause)
		_, err = next(soon)
		late := soon.Err() != nil
		cancel()
		switch {
		case err == nil:
			pause = lookFirst / 2 // Doubled before the next read.
		case ctx.Err() != nil || !late:
			return nil, err
		}
	}
}

// Blob reads a payload of a job. Errors: ErrNotFound, and those of the bus.
func (c *Client) Blob(ctx context.Context, job string, ref events.Ref) ([]byte, error) {
	if err := checkID(job); err != nil {
		return nil, err
	}
	return c.bus.Blobs().Get(ctx, job, ref.Digest)
}

// Head returns the sequence of a job's last event. Errors: ErrNotFound for a job without any.
func (c *Client) Head(ctx context.Context, job string) (uint64, error) {
	if err := checkID(job); err != nil {
		return 0, err
	}
	last, err := c.bus.Streams().LastOn(ctx, c.Names().Log, c.Names().JobEvents(job))
	if errors.Is(err, bus.ErrNotFound) {
		return 0, c.absent(ctx, job)
	}
	return last.Seq, err
}

// exists reports whether the log contains events of a job.
func (l Logs) exists(ctx context.Context, job string) (bool, error) {
	_, err := l.client.bus.Streams().LastOn(ctx, l.client.Names().Log, l.client.Names().JobEvents(job))
	if errors.Is(err, bus.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
