package loop

import (
	"context"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// cancelled ends a run because it was stopped.
type cancelled struct{ reason string }

func (c *cancelled) Error() string { return "cancelled: " + c.reason }

// runID tells planning runs apart.
type runID struct {
	job, subjob string
	run         int
}

// runs knows the planning runs in hand.
type runs struct {
	mu   sync.Mutex // Guards list.
	list map[runID]context.CancelCauseFunc
}

// add enters a run; remove takes it out. It is nil when the run is in hand already.
func (r *runs) add(w *events.Work, end context.CancelCauseFunc) (remove func()) {
	id := runID{w.Job, w.SubJob, w.Run}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list[id] != nil {
		return nil
	}
	if r.list == nil {
		r.list = map[runID]context.CancelCauseFunc{}
	}
	r.list[id] = end
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.list, id)
	}
}

// Cancel tells the planning runs of a job, or of one SubJob of it, to end now: all of them, or those up to a run.
func (l *Loop) Cancel(job, subjob string, run int, reason string) {
	l.runs.mu.Lock()
	defer l.runs.mu.Unlock()
	for id, end := range l.runs.list { // any order: each is told.
		if id.job == job && (subjob == "" || id.subjob == subjob) && (run == 0 || id.run <= run) {
			end(&cancelled{reason: reason})
		}
	}
}
