package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Purge removes every message of a stream on a subject, which may bear wildcards. That there are none is no error. Errors:
// ErrNotFound without the stream, ErrNotPermitted, ErrUnavailable.
func (b *Bus) Purge(ctx context.Context, stream, subject string) error {
	return b.purge(ctx, stream, subject, 0)
}

// purge is Purge for messages below a sequence; 0 for all.
func (b *Bus) purge(ctx context.Context, stream, subject string, below uint64) error {
	body, err := json.Marshal(struct {
		Filter string `json:"filter"`
		Below  uint64 `json:"seq,omitempty"`
	}{subject, below})
	if err != nil {
		return fmt.Errorf("purge %s: %w", subject, err)
	}
	reply, err := b.ask(ctx, apiPrefix+"STREAM.PURGE."+stream, body)
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

// PurgeJob removes everything of a job, in the order in which nothing can come back: work, timers, journals, blobs, log,
// the book of plans that its agents keep, state. It may be repeated after a failure.
func (b *Bus) PurgeJob(ctx context.Context, job string) error {
	if err := validJob(job); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	n := b.names
	steps := []func() error{
		func() error { return b.Purge(ctx, n.Work, n.JobWork(job)) },
		func() error { return b.PurgeTimers(ctx, job) },
		func() error { return b.Purge(ctx, n.Journal, n.JobJournal(job)) },
		func() error { return b.DeleteBlobs(ctx, job) },
		func() error { return b.Purge(ctx, n.Log, n.JobEvents(job)) },
		func() error { return b.purgeBook(ctx, job) },
		func() error { return b.purgeState(ctx, job) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("purge job %s: %w", job, err)
		}
	}
	return nil
}

// purgeBook removes the book of a job's agents. Nobody watches it. A bus of an earlier version has no books.
func (b *Bus) purgeBook(ctx context.Context, job string) error {
	plans := b.Plans()
	err := b.Purge(ctx, plans.stream(), plans.subject(BookKey(AgentBook(job))))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// purgeState deletes the key of the job, so that those who watch see it go, and its chunks.
func (b *Bus) purgeState(ctx context.Context, job string) error {
	state := b.State()
	if err := b.Purge(ctx, state.stream(), state.subject(job+".>")); err != nil {
		return err
	}
	return state.Delete(ctx, job)
}

// Drop deletes every stream and bucket under the prefix, with all jobs. Streams that are not ours stay.
func (b *Bus) Drop(ctx context.Context) error {
	for _, cfg := range streams(b.names) {
		stream, err := b.js.Stream(ctx, cfg.Name)
		if err != nil || stream.CachedInfo().Config.Metadata[topologyMark] == "" {
			continue
		}
		if err := b.js.DeleteStream(ctx, cfg.Name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return fmt.Errorf("drop stream %s: %w", cfg.Name, class(err))
		}
	}
	return nil
}

// validJob keeps wildcards and dots out of subjects: the wrong id must never reach another job.
func validJob(job string) error {
	if !events.ValidToken(job) {
		return fmt.Errorf("job %.80q: %w: no job id", job, ErrRefused)
	}
	return nil
}
