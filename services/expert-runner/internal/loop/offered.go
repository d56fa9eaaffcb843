package loop

import (
	"sync/atomic"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/meter"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// offered are the current experts, by id. It is replaced as a whole, and never changed.
type offered map[string]*served

// served is an expert while it is offered, and until its last run has ended.
type served struct {
	*expert.Expert
	meter *meter.Expert
	gate  chan struct{} // Holds one token for each run in progress; nil if only the runner's limit counts.
	// uses counts the runs in progress, plus one while the expert is offered. At zero the expert is closed.
	uses atomic.Int64
}

// serve replaces the offered experts. Experts that are the same stay; the others are released when their last run has ended.
func (l *Loop) serve(experts map[string]*expert.Expert) {
	before := *l.offered.Load()
	next := make(offered, len(experts))
	for id, x := range experts {
		was := before[id]
		if was != nil && was.Expert == x {
			next[id] = was
			continue
		}
		next[id] = l.enlist(x, was)
	}
	l.offered.Store(&next)
	for id, was := range before {
		if next[id] != was {
			was.done()
		}
	}
}

// enlist offers an expert. If it replaces one with the same limit of concurrent runs, the two share a gate.
func (l *Loop) enlist(x *expert.Expert, was *served) *served {
	s := &served{Expert: x, meter: l.Meter.Expert(x.Card.ID)}
	s.uses.Store(1)
	if n := x.Card.Concurrency; n > 0 && n < cap(l.places(x)) {
		s.gate = make(chan struct{}, n)
		if was != nil && cap(was.gate) == n {
			s.gate = was.gate
		}
	}
	return s
}

// places returns the semaphore for an expert's kind of work.
func (l *Loop) places(x *expert.Expert) chan struct{} {
	if x.Calls && l.calls != nil {
		return l.calls
	}
	return l.exec
}

// calling reports whether the work of a subject is for an expert that waits for others.
func (l *Loop) calling(subject string) bool {
	if l.calls == nil {
		return false
	}
	s := (*l.offered.Load())[task.ExpertOf(l.Names, subject)]
	return s != nil && s.Calls
}

// use finds an expert for a run, which must call done; nil if there is none.
func (l *Loop) use(id string) *served {
	for {
		s := (*l.offered.Load())[id]
		if s == nil {
			return nil
		}
		for n := s.uses.Load(); n > 0; n = s.uses.Load() {
			if s.uses.CompareAndSwap(n, n+1) {
				return s
			}
		} // The expert was released meanwhile, and others are offered now.
	}
}

// done must be called once for each use. It closes an expert that is no longer offered when its last run has ended.
func (s *served) done() {
	if s.uses.Add(-1) == 0 && s.Close != nil {
		s.Close()
	}
}
