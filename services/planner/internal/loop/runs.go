package loop

import (
	"context"
	"sync"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// cancelled is the cause with which the context of a cancelled run ends.
type cancelled struct{ reason string }

func (c *cancelled) Error() string { return "cancelled: " + c.reason }

// runID identifies a planning run.
type runID struct {
	job, subjob string
	run         int
}

// runs holds the planning runs that are in progress here.
type runs struct {
	mu   sync.Mutex // Guards list.
	list map[runID]context.CancelCauseFunc
}

// add registers a run; remove removes it. remove is nil if the run is already in progress here.
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

// Cancel ends the planning runs of a job, or of one of its SubJobs, up to a run number; 0 means all.
func (l *Loop) Cancel(job, subjob string, run int, reason string) {
	l.runs.mu.Lock()
	defer l.runs.mu.Unlock()
	for id, end := range l.runs.list { // any order: each gets its own call.
		if id.job == job && (subjob == "" || id.subjob == subjob) && (run == 0 || id.run <= run) {
			end(&cancelled{reason: reason})
		}
	}
}
