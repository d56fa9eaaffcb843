package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Purge removes every message of a stream on a subject, which may contain wildcards. Removing none is not an error. Errors:
// ErrNotFound without the stream, ErrNotPermitted, ErrUnavailable.
func (s Streams) Purge(ctx context.Context, stream, subject string) error {
	return s.purge(ctx, stream, subject, 0)
}

// purge is like Purge, for messages below a sequence; 0 for all.
func (s Streams) purge(ctx context.Context, stream, subject string, below uint64) error {
	return s.askPurge(ctx, stream, purging{Filter: subject, Below: below})
}

// keep removes all but the newest messages on subjects that match a filter.
func (s Streams) keep(ctx context.Context, stream, filter string, newest int) error {
	return s.askPurge(ctx, stream, purging{Filter: filter, Keep: newest})
}

// purging is the request to remove messages, with the fields of the JetStream API.
type purging struct {
	Filter string `json:"filter"`
	Below  uint64 `json:"seq,omitempty"`
	Keep   int    `json:"keep,omitempty"`
}

func (s Streams) askPurge(ctx context.Context, stream string, p purging) error {
	subject := p.Filter
	body, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("purge %s: %w", subject, err)
	}
	reply, err := s.bus.ask(ctx, apiPrefix+"STREAM.PURGE."+stream, body)
	if err != nil {
		err = class(err)
	} else {
		err = refusalOf(reply.Data)
	}
	if err != nil {
		return fmt.Errorf("purge %s: %w", subject, err)
	}
	return nil
}

// Retention deletes the data of jobs from streams and buckets, in an order in which nothing can reappear.
type Retention struct{ bus *Bus }

// PurgeJob deletes everything of a job in an order in which nothing can reappear: work, timers, journals, blobs, the plan
// documents of its agents, live items, log, state. It may be repeated after a failure. Deleting the log frees the id, so the state of a
// new job with the same id is left alone. If PurgeJob is interrupted before it deletes the job's own state, PurgeRest
// removes that.
func (r Retention) PurgeJob(ctx context.Context, job string) error { return r.purgeJob(ctx, job, 0) }

// ReapJob is like PurgeJob, for a caller that handles the event with sequence last and has not acknowledged it yet. It
// deletes the log from that event on at the end: if the caller crashes before the state is deleted, the event is delivered
// again, and its receiver calls PurgeRest.
func (r Retention) ReapJob(ctx context.Context, job string, last uint64) error {
	if err := r.purgeJob(ctx, job, last); err != nil {
		return err
	}
	return r.PurgeStrays(ctx, job)
}

// purgeJob is like PurgeJob, but keeps the log from sequence last on until the state is deleted; 0 keeps nothing.
func (r Retention) purgeJob(ctx context.Context, job string, last uint64) error {
	if err := validJob(job); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	n := r.bus.names
	steps := []func() error{
		func() error { return r.bus.Streams().Purge(ctx, n.Work, n.JobWork(job)) },
		func() error { return r.bus.Timers().Purge(ctx, job) },
		func() error { return r.bus.Streams().Purge(ctx, n.Journal, n.JobJournal(job)) },
		func() error { return r.bus.Blobs().Delete(ctx, job) },
		func() error { return r.purgeBook(ctx, job) },
		func() error {
			return ignoreAbsent(r.bus.Streams().Purge(ctx, r.bus.items.names.Stream(), r.bus.items.names.Job(job)))
		},
		func() error { return r.bus.Streams().purge(ctx, n.Log, n.JobEvents(job), last) },
		func() error { return r.purgeState(ctx, job) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("purge job %s: %w", job, err)
		}
	}
	return nil
}

// PurgeRest removes the rest of a job whose request is no longer in the log: its state, then its events. A new job with the
// same id keeps its own.
func (r Retention) PurgeRest(ctx context.Context, job string) error {
	_, _, err := r.bus.State().GetLeader(ctx, job) // GetLeader rejects an invalid id.
	if err == nil {
		err = r.purgeState(ctx, job)
	} else if errors.Is(err, ErrNotFound) {
		err = nil // Most late events belong to jobs that were deleted completely.
	}
	if err == nil {
		err = r.PurgeStrays(ctx, job)
	}
	if err != nil {
		return fmt.Errorf("purge what is left of job %s: %w", job, err)
	}
	return nil
}

// purgeBook removes the plan documents of a job's agents. They have no watchers. The bus of an earlier release has no such
// bucket.
func (r Retention) purgeBook(ctx context.Context, job string) error {
	plans := r.bus.Plans()
	return ignoreAbsent(r.bus.Streams().Purge(ctx, plans.stream(), plans.subject(BookKey(AgentBook(job)))))
}

// ignoreAbsent returns err, unless it says that the stream does not exist.
func ignoreAbsent(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// purgeState deletes the state of a job whose request is not in the log, so that watchers notice it, and its chunks. A
// process that is about to save it gets a conflict. The state is read before the log, so it cannot belong to a new job with
// the same id.
func (r Retention) purgeState(ctx context.Context, job string) error {
	state := r.bus.State()
	for {
		last, err := state.Last(ctx)
		if err != nil {
			return err
		}
		_, revision, err := state.GetLeader(ctx, job)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		next, err := r.bus.Log().LastOf(ctx, job, events.KindJobRequested)
		if err != nil || next.Seq != 0 {
			return err
		}
		if err := r.bus.Streams().purge(ctx, state.stream(), state.subject(job+".>"), last+1); err != nil {
			return err
		}
		if err := state.Remove(ctx, job, revision); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// PurgeJournals removes the journals of a job whose request is not in the log, as an interrupted import leaves them. A new
// job with the same id keeps its own: everything written before the log is read belongs to no later job. Errors:
// ErrNotFound if there is nothing to remove.
func (r Retention) PurgeJournals(ctx context.Context, job string) error {
	if err := validJob(job); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	last, err := r.bus.Streams().LastOn(ctx, r.bus.names.Journal, r.bus.names.JobJournal(job))
	if err != nil {
		return err
	}
	next, err := r.bus.Log().LastOf(ctx, job, events.KindJobRequested)
	if err != nil {
		return err
	}
	if next.Seq != 0 {
		return fmt.Errorf("purge journals of job %s: %w: there is one", job, ErrNotFound)
	}
	return r.bus.Streams().purge(ctx, r.bus.names.Journal, r.bus.names.JobJournal(job), last.Seq+1)
}

// PurgeStrays removes the events of a job that precede its request; if it has no request, all events so far.
func (r Retention) PurgeStrays(ctx context.Context, job string) error {
	if err := validJob(job); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	facts, err := r.bus.Streams().Info(ctx, r.bus.names.Log)
	if err != nil {
		return err
	}
	next, err := r.bus.Log().LastOf(ctx, job, events.KindJobRequested)
	if err != nil {
		return err
	}
	below := facts.LastSeq + 1
	if next.Seq != 0 {
		below = next.Seq
	}
	return r.bus.Streams().purge(ctx, r.bus.names.Log, r.bus.names.JobEvents(job), below)
}

// Drop deletes every stream and bucket under the prefix, with all jobs. Foreign streams stay.
func (s Streams) Drop(ctx context.Context) error {
	for _, cfg := range streams(s.bus.names) {
		stream, err := s.bus.js.Stream(ctx, cfg.Name)
		if err != nil || stream.CachedInfo().Config.Metadata[topologyMark] == "" {
			continue
		}
		if err := s.bus.js.DeleteStream(ctx, cfg.Name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("drop stream %s: %w", cfg.Name, class(err))
		}
	}
	return nil
}

// validJob rejects wildcards and dots in ids: a wrong id must never reach another job.
func validJob(job string) error {
	if !events.ValidToken(job) {
		return fmt.Errorf("job %.80q: %w: no job id", job, ErrRefused)
	}
	return nil
}
