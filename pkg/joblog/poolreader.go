package joblog

import (
	"iter"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/graph"
)

// PoolReader reads from the log of a job, a part at a time, which pool has which run, for a reader of live items. It keeps no events. The
// zero value has read nothing.
type PoolReader struct {
	job   *graph.Job
	last  uint64
	stuck bool // An event cannot be folded, so that later ones are not, either.
}

// Last returns the sequence of the last event that was read; 0 before the first.
func (r *PoolReader) Last() uint64 { return r.last }

// Read folds the events after Last. An event that cannot be folded ends what is known of the job. Errors: those of the log.
func (r *PoolReader) Read(log iter.Seq2[events.Event, error]) error {
	for e, err := range log {
		if err != nil {
			return err
		}
		if r.last = e.Seq; r.stuck || r.job == nil && e.Kind != events.KindJobRequested {
			continue
		}
		r.job, _, err = Step(r.job, &e)
		r.stuck = err != nil
	}
	return nil
}

// Run returns the current run of a SubJob; 0 if it has none.
func (r *PoolReader) Run(subjob string) int {
	if n := r.subjob(subjob); n != nil {
		return n.Run
	}
	return 0
}

// Shows reports whether a live item counts whose subject names a pool: if that pool has the run, which the job must have begun, since an
// edit may give a run to come to another pool. Run 0 is the current one. forEver is true if later events cannot change the answer.
func (r *PoolReader) Shows(subjob, pool string, run int) (counts, forEver bool) {
	n := r.subjob(subjob)
	switch {
	case n == nil || run < 0 || run > n.Run:
		return false, false
	case run == 0:
		return pool == poolOf(n, n.Run), false
	}
	return pool == poolOf(n, run), true
}

func (r *PoolReader) subjob(id string) *graph.SubJobState {
	if r.job == nil {
		return nil
	}
	return r.job.SubJob(id)
}
