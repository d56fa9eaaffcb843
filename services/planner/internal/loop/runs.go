package loop

import (
	"context"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// cancelled ends a run because somebody stopped it.
type cancelled struct{ reason string }

func (c *cancelled) Error() string { return "cancelled: " + c.reason }

// runs knows the planning runs in hand.
type runs struct {
	mu   sync.Mutex // Guards list.
	list map[*events.Work]context.CancelCauseFunc
}

// add enters a run; remove takes it out. It is nil when the run is in hand already.
func (r *runs) add(w *events.Work, end context.CancelCauseFunc) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for other := range r.list { // any order: there is at most one.
		if other.Job == w.Job && other.SubJob == w.SubJob && other.Run == w.Run {
			return nil
		}
	}
	if r.list == nil {
		r.list = map[*events.Work]context.CancelCauseFunc{}
	}
	r.list[w] = end
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.list, w)
	}
}

// Cancel tells the planning runs of a job, or of one SubJob of it, to end now: all of them, or those up to a run.
func (l *Loop) Cancel(job, subjob string, run int, reason string) {
	l.runs.mu.Lock()
	defer l.runs.mu.Unlock()
	for w, end := range l.runs.list { // any order: each is told.
		if w.Job == job && (subjob == "" || w.SubJob == subjob) && (run == 0 || w.Run <= run) {
			end(&cancelled{reason: reason})
		}
	}
}
