package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/item"
	"github.com/jobgraph/jobgraph/pkg/joblog"
)

// lastWords limits the wait for what was said at the end of a job. Before a question, what was said counts as complete when nothing has come
// for beforeAsking: it comes by another way than the question.
const (
	lastWords    = time.Second
	beforeAsking = 250 * time.Millisecond
)

// items is the source of live items; nil, from which nothing comes, if there is none.
func (t *Talk) items() <-chan item.Item {
	if t == nil {
		return nil
	}
	return t.Items
}

// columns is the width of the terminal, 0 if it is not known.
func (s *Show) columns() int {
	if s.Size == nil {
		return 0
	}
	width, _, _ := s.Size()
	return width
}

// width is how many columns a row of the talk may take: some terminals move to the next row as soon as a row is full.
func (s *Show) width() int { return max(cmp.Or(s.columns(), defaultWidth)-1, minText) }

// known shows what was said by SubJobs that the log has made known since.
func (s *Show) known(h *joblog.Log) error {
	if s.Talk == nil {
		return nil
	}
	return s.write(s.Talk.known(h, s.width())...)
}

// say shows an item. Without more of them there is nothing to wait for.
func (s *Show) say(h *joblog.Log, i *item.Item, more bool) error {
	if !more {
		s.Talk.Items = nil
		return nil
	}
	if err := s.write(s.Talk.take(i, h, s.width())...); err != nil {
		return err
	}
	return s.redraw(h, false)
}

// settle shows what was said before a question.
func (s *Show) settle(ctx context.Context, h *joblog.Log) error {
	timer := time.NewTimer(beforeAsking)
	defer timer.Stop()
	for s.Talk.Items != nil {
		select {
		case i, more := <-s.Talk.Items:
			if err := s.say(h, &i, more); err != nil {
				return err
			}
			timer.Reset(beforeAsking)
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil // The caller meets it.
		}
	}
	return nil
}

// rest shows what was said before a question or the end of a job, the latter if it comes within lastWords.
func (s *Show) rest(ctx context.Context, h *joblog.Log) error {
	switch {
	case s.Talk == nil:
		return nil
	case !h.Job.View().Status.Terminal():
		return s.settle(ctx, h)
	case !spoken(h):
		return nil
	}
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	for s.Talk.Items != nil && (!s.Talk.quiet() || !s.Talk.Told(inline(h))) {
		select {
		case i, more := <-s.Talk.Items:
			if err := s.say(h, &i, more); err != nil {
				return err
			}
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil // The caller meets it.
		}
	}
	return nil
}

// spoken reports whether a model made the last report of a job, so that there are words of it.
func spoken(h *joblog.Log) bool {
	for n := range slices.Backward(h.Events) {
		if r, is := h.Events[n].Data.(*events.SubJobReported); is {
			return r.Tokens > 0
		}
	}
	return h.Job.View().Cost.Tokens > 0
}

// inline is the result of a job as text, if it is one and was not stored elsewhere.
func inline(h *joblog.Log) (text string) {
	_ = json.Unmarshal(h.Job.View().Result, &text) // A result that is no string is shown by itself.
	return text
}
