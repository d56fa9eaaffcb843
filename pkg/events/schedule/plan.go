package schedule

import (
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Routed returns a copy of a plan whose recurring steps go to the pool that creates schedules. The steps keep their
// experts, which the runs of those schedules will use. Steps with a result are unchanged.
func Routed(p *events.Plan) *events.Plan {
	if p == nil || !slices.ContainsFunc(p.SubJobs, recurs) {
		return p
	}
	made := *p
	made.SubJobs = slices.Clone(p.SubJobs)
	for i := range made.SubJobs {
		if s := &made.SubJobs[i]; recurs(*s) {
			s.Pool, s.Pure = Pool, false
		}
	}
	return &made
}

func recurs(s events.SubJob) bool { return s.Schedule != nil && !s.Done() }
