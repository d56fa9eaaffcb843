package schedule

import (
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// Routed gives a plan whose steps that recur go to the maker of schedules, under the names of their experts, which the runs of
// those schedules go to. Steps with a result stay what they are, and so does the plan that is given.
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
