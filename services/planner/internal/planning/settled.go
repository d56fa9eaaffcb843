package planning

import (
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// confirmedWhole reports whether the person has just confirmed everything that the plan does: every step recurs, and they have seen
// when. A review would ask the same again.
func (s reviewStage) confirmedWhole() bool {
	once := func(j events.SubJob) bool { return j.Schedule == nil }
	return s.start.Settled && s.state.Confirmed && s.state.Plan != nil && !slices.ContainsFunc(s.state.Plan.SubJobs, once)
}
