package planning

import (
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// handOff gives every step of a plan that a model wrote a session of its own, where the profile says so. A person who names an
// expert speaks to that one, in their own session.
func (s endStage) handOff(p *events.Plan) *events.Plan {
	if !s.start.Profile.Plan.Handoff || s.state.Counts.Draft == 0 && !s.state.Reused {
		return p
	}
	handed := *p
	handed.SubJobs = slices.Clone(p.SubJobs)
	for i := range handed.SubJobs {
		handed.SubJobs[i].Handoff = true
	}
	return &handed
}
