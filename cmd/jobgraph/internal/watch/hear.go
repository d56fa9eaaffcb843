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

// lastWords limits the wait for live items at the end of a job. Before a question, they count as complete when none has arrived for
// beforeAsking, since they travel by another way than the question.
const (
	lastWords    = time.Second
	beforeAsking = 250 * time.Millisecond
)

// items returns the source of live items; nil, which never delivers, if there is none.
func (t *Talk) items() <-chan item.Item {
	if t == nil {
		return nil
	}
	return t.Items
}

// columns returns the width of the terminal, 0 if it is not known.
func (s *Show) columns() int {
	if s.Size == nil {
		return 0
	}
	width, _, _ := s.Size()
	return width
}

// width returns how many columns a row of a Talk may have: some terminals move to the next row as soon as a row is
// full.
func (s *Show) width() int { return max(cmp.Or(s.columns(), defaultWidth)-1, minText) }

// known shows the items that arrived before the log had their SubJobs, for those SubJobs that it has now.
func (s *Show) known(h *joblog.Log) error {
	if s.Talk == nil {
		return nil
	}
	return s.write(s.Talk.known(h, s.width())...)
}

// say shows an item. more is false once no further items will come.
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

// settle shows the items that precede a question.
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
			return nil // The caller meets the same error.
		}
	}
	return nil
}

// rest shows the items that precede a question or the end of a job, the latter if they come within lastWords.
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
	said := func() bool { told, _ := s.Talk.Told(inline(h)); return told && s.Talk.quiet() }
	for s.Talk.Items != nil && !said() {
		select {
		case i, more := <-s.Talk.Items:
			if err := s.say(h, &i, more); err != nil {
				return err
			}
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil // The caller meets the same error.
		}
	}
	return nil
}

// spoken reports whether a model wrote the last report of a job, so that there is live text of it.
func spoken(h *joblog.Log) bool {
	for n := range slices.Backward(h.Events) {
		if r, is := h.Events[n].Data.(*events.SubJobReported); is {
			return r.Tokens > 0
		}
	}
	return h.Job.View().Cost.Tokens > 0
}

// inline returns the result of a job if it is a string in the log; "" otherwise.
func inline(h *joblog.Log) (text string) {
	_ = json.Unmarshal(h.Job.View().Result, &text) // A result that is not a string is shown separately.
	return text
}
