package planning

import (
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
)

// handOff gives every step of a model's plan a separate session, if the profile says so. If the person names an expert, that step
// keeps their session.
func (s endStage) handOff(p *events.Plan) *events.Plan {
	if !s.start.Profile.Plan.Handoff || s.state.Counts.Draft == 0 && !s.state.Reused {
		return p
	}
	handed := *p
	handed.SubJobs = slices.Clone(p.SubJobs)
	for i := range handed.SubJobs {
		// The runs of a schedule are part of the session in which it was confirmed.
		handed.SubJobs[i].Handoff = handed.SubJobs[i].Schedule == nil || !s.start.decides()
	}
	return &handed
}
