package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/joblog"
	"github.com/jobgraph/jobgraph/services/scheduler/internal/loop"
)

// Recorder adds what was said to the conversations of sessions. It is safe for concurrent use.
type Recorder struct {
	conversations bus.Conversations
	bus           *bus.Bus
	log           *slog.Logger
	// absent is the time, in Unix nanoseconds, until which the bus is assumed to have no conversations.
	absent atomic.Int64
}

// NewRecorder returns a recorder for the sessions of a bus.
func NewRecorder(b *bus.Bus, log *slog.Logger) *Recorder {
	return &Recorder{conversations: b.Conversations(), bus: b, log: log}
}

const (
	// retryAbsent is how long to wait before asking a bus without conversations again.
	retryAbsent = time.Minute
	// maxResult limits a stored result that is read to show its beginning, in bytes.
	maxResult = 1 << 20
)

// Record adds items in order; items that were added before change nothing. On a bus without conversations, or without room for
// them, it does nothing: jobs do not wait for their conversation. Errors: bus.ErrUnavailable and the context's; then the caller
// repeats all of it.
func (r *Recorder) Record(ctx context.Context, said []loop.Said) error {
	if len(said) == 0 || time.Now().UnixNano() < r.absent.Load() {
		return nil
	}
	list := make([]events.Message, 0, len(said))
	for i := range said {
		s := &said[i]
		if err := r.begin(ctx, &s.Item); err != nil {
			return err
		}
		m, err := r.conversations.Message(s.Session, s.ID, &s.Item)
		if err != nil {
			r.log.Warn("cannot record an item of a conversation", "session", s.Session, "item", s.ID, "error", err)
			continue
		}
		list = append(list, m)
	}
	for i, err := range r.bus.PublishAll(ctx, list, bus.Expect{}) {
		switch {
		case err == nil:
		case r.conversations.Absent(err):
			return r.missing(ctx, err)
		case errors.Is(err, bus.ErrUnavailable), errors.Is(err, bus.ErrUnknown), ctx.Err() != nil:
			return fmt.Errorf("record conversation: %w", err)
		default:
			r.log.Warn("cannot record an item of a conversation", "subject", list[i].Subject, "error", err)
		}
	}
	return nil
}

// begin puts the beginning of a result that is stored as a blob into its item.
func (r *Recorder) begin(ctx context.Context, i *item.Item) error {
	if i.Ref == nil || i.Text != "" || i.Ref.Size > maxResult {
		return nil
	}
	text, err := r.bus.Blobs().Get(ctx, i.Job, i.Ref.Digest)
	switch {
	case errors.Is(err, bus.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read a result for the conversation: %w", err)
	}
	whole := joblog.AnswerText(text)
	i.Text = clip.Text(whole, item.MaxText)
	i.Truncated = len(whole) - len(i.Text)
	return nil
}

// missing handles a bus without conversations; it is asked again later.
func (r *Recorder) missing(ctx context.Context, cause error) error {
	there, err := r.conversations.Exists(ctx)
	if err != nil || there {
		return errors.Join(cause, err) // The stream has no leader at the moment.
	}
	if r.absent.Swap(time.Now().Add(retryAbsent).UnixNano()) == 0 {
		r.log.Warn("the bus keeps no conversations", "hint", "run `jobgraph init` to create what a release has added")
	}
	return nil
}
