package planstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/bus"
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// open reads a book without the plans that are to be removed by now; a book that was never written is empty.
func (s *Store) open(ctx context.Context, name string) (*plan.Book, uint64, error) {
	e, err := s.bus.Plans().Entry(ctx, bus.BookKey(name))
	if errors.Is(err, bus.ErrNotFound) {
		return &plan.Book{}, e.Revision, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read book %s: %w", name, err)
	}
	b, _, err := s.read(ctx, name, e)
	return b, e.Revision, err
}

// read decodes a book from its entry, without the plans that are to be removed by now; gone is true if there were such plans.
func (s *Store) read(ctx context.Context, name string, e bus.Entry) (b *plan.Book, gone bool, err error) {
	b = &plan.Book{}
	if err := json.Unmarshal(e.Value, b); err != nil {
		return nil, false, fmt.Errorf("read book %s: %w", name, err)
	}
	b.Begin(e.Time, s.limits)
	due := b.Due(time.Now())
	if len(due) == 0 {
		return b, false, nil
	}
	needed, err := s.needed(ctx, name)
	if err != nil || needed {
		return b, false, err
	}
	b.Drop(due)
	return b, true, nil
}

// needed reports whether a book belongs to the agents of a job that has not ended: then all its plans are in use.
func (s *Store) needed(ctx context.Context, book string) (bool, error) {
	job, agents := strings.CutSuffix(book, bus.AgentBook(""))
	if !agents {
		return false, nil
	}
	chart, err := s.chart(ctx, job)
	var fault *events.Fault
	if errors.As(err, &fault) && fault.Code == events.CodeNotFound {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the job of book %s: %w", book, err)
	}
	return !chart.Job.Status.Terminal(), nil
}

// bound records which plans an operation used, and removes plans that exceed the limit.
func (s *Store) bound(ctx context.Context, book string, b, before *plan.Book, reply *Reply) error {
	b.Note(before, time.Now(), s.limits)
	if len(b.Boards) <= len(before.Boards) {
		return nil
	}
	excess := b.Excess(s.limits)
	if len(excess) == 0 {
		return nil
	}
	needed, err := s.needed(ctx, book)
	if err != nil {
		return err
	}
	if needed {
		return &events.Fault{
			Code: events.CodeTooLarge, Field: "book", Message: fmt.Sprintf("book %s has %d plans, and its job is at work with them", book, s.limits.Number), Hint: "delete a plan that is done",
		}
	}
	made := b.Active // The board that reply.Plan points to moves.
	b.Drop(excess)
	reply.Plan, reply.Removed = b.Board(made), excess
	reply.Text += fmt.Sprintf("\n%s went: the book keeps %d plans.\n", strings.Join(excess, ", "), s.limits.Number)
	return nil
}

// written returns a book in its stored form, and whether that differs from before.
func written(before, after *plan.Book) (text []byte, changed bool, err error) {
	old, err := json.Marshal(before.Stored())
	if err != nil {
		return nil, false, err
	}
	text, err = json.Marshal(after.Stored())
	return text, err == nil && !bytes.Equal(old, text), err
}

// every is the time between two runs of Tidy over all books.
const every = time.Hour

// Tidy removes expired plans, immediately and then every hour, until ctx ends. Several stores may do so at the same time.
func (s *Store) Tidy(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for s.limits.Age > 0 {
		if err := s.tidy(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("plans whose time is over were not removed; it is tried again in an hour", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// tidy checks all books. A book that cannot be read, or that is written meanwhile, stays as it is.
func (s *Store) tidy(ctx context.Context) error {
	prefix := bus.BookKey("")
	list, err := s.bus.Plans().Under(ctx, strings.TrimSuffix(prefix, "."))
	if err != nil {
		return err
	}
	var faults []error
	for _, e := range list {
		b, gone, err := s.read(ctx, strings.TrimPrefix(e.Key, prefix), e)
		if err == nil && gone {
			err = s.shorten(ctx, e, b)
		}
		if err != nil && !errors.Is(err, bus.ErrConflict) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// shorten writes a book that has fewer plans than its entry, or removes the key if nothing is left.
func (s *Store) shorten(ctx context.Context, e bus.Entry, b *plan.Book) error {
	if len(b.Boards) == 0 && b.Active == "" {
		return s.bus.Plans().Remove(ctx, e.Key, e.Revision)
	}
	text, err := json.Marshal(b.Stored())
	if err == nil {
		_, err = s.bus.Plans().Update(ctx, e.Key, text, e.Revision)
	}
	return err
}
