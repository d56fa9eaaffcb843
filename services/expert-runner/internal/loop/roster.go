package loop

import (
	"sync/atomic"

	"github.com/jobgraph/jobgraph/services/expert-runner/internal/expert"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/meter"
	"github.com/jobgraph/jobgraph/services/expert-runner/internal/task"
)

// roster is who works here, by id. It is replaced as a whole, and never changed.
type roster map[string]*served

// served is an expert on the roster.
type served struct {
	*expert.Expert
	meter *meter.Expert
	gate  chan struct{} // Holds one token for each run at work; nil when only the runner's limit counts.
	// uses counts the runs in hand, and one more while it is on the roster. At zero the expert is let go.
	uses atomic.Int64
}

// serve rebuilds the roster. Experts that are the same stay; the others are let go when their last run has ended.
func (l *Loop) serve(experts map[string]*expert.Expert) {
	before := *l.roster.Load()
	next := make(roster, len(experts))
	for id, x := range experts {
		was := before[id]
		if was != nil && was.Expert == x {
			next[id] = was
			continue
		}
		next[id] = l.enlist(x, was)
	}
	l.roster.Store(&next)
	for id, was := range before {
		if next[id] != was {
			was.done()
		}
	}
}

// enlist puts an expert on the roster. It shares the gate of the expert in whose place it comes when that is as wide.
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

// places are those at which an expert works.
func (l *Loop) places(x *expert.Expert) chan struct{} {
	if x.Calls && l.calls != nil {
		return l.calls
	}
	return l.exec
}

// calling reports whether the work of a subject is for an expert with the places of calls.
func (l *Loop) calling(subject string) bool {
	if l.calls == nil {
		return false
	}
	s := (*l.roster.Load())[task.ExpertOf(l.Names, subject)]
	return s != nil && s.Calls
}

// use finds an expert for a run, which has to call done; nil when there is none.
func (l *Loop) use(id string) *served {
	for {
		s := (*l.roster.Load())[id]
		if s == nil {
			return nil
		}
		for n := s.uses.Load(); n > 0; n = s.uses.Load() {
			if s.uses.CompareAndSwap(n, n+1) {
				return s
			}
		} // It was let go meanwhile: the roster is another one.
	}
}

// done goes with use.
func (s *served) done() {
	if s.uses.Add(-1) == 0 && s.Close != nil {
		s.Close()
	}
}
