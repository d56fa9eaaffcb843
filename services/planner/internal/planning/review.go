package planning

import (
	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// reviewStage asks the person to accept, edit or reject the plan.
type reviewStage struct{ approval }

// enter shows the plan to the person, if a review is wanted.
func (s reviewStage) enter() On {
	if s.start.Mode == events.WorkSplit || !s.wants(StageReview) || !s.reviewed() || s.confirmedWhole() {
		return OnSkipped
	}
	options := []string{"accept", "edit", "reject"}
	if s.last() {
		options = []string{"accept", "reject"}
	}
	silence := `{"action":"reject"}`
	if s.start.Profile.Review.OnExpiry == "accept" {
		silence = `{"action":"accept"}`
	}
	return s.put("review", &s.state.Counts.Review, events.InputRequested{
		Kind: events.InputReview, Options: options, Schema: []byte(reviewSchema), Default: []byte(silence),
	})
}

// reviewed reports whether a review is wanted: by the profile or, if the profile leaves it open, by the request.
func (s reviewStage) reviewed() bool {
	switch s.start.Profile.Review.When {
	case "always":
		return true
	case "never":
		return false
	}
	accept := s.start.Request.AutoAccept
	return accept != nil && !*accept
}

func (s reviewStage) take(f *Fact) On {
	if f.Action != events.Answered {
		if s.start.Profile.Review.OnExpiry != "accept" || f.Action == events.Cancelled {
			s.dropped("no one reviewed the plan in time", "")
		}
		return OnExpired
	}
	r := s.understood(f.Answer)
	switch r.on {
	case OnAccepted:
		return OnAccepted
	case OnRejected:
		s.dropped("the plan was rejected", r.text)
		return OnRejected
	case OnReplaced:
		return s.replaced(&r)
	case OnEdited:
		if on := s.beyond(); on != "" {
			return on
		}
	}
	return s.unsettled(&r)
}

// beyond returns what an edit leads to when no round is left, or "" to ask again.
func (s reviewStage) beyond() On {
	if !s.last() {
		return ""
	}
	switch s.start.Profile.Review.AtLimit {
	case "accept":
		s.state.Warnings = append(s.state.Warnings, events.Fault{
			Code: events.CodeBudget, Field: "limits.max_plan_rounds", Message: "the last wish was not worked in: no round was left", Hint: "raise limits.max_plan_rounds",
		})
		return OnAccepted
	case "reject":
		s.dropped("no round was left for another edit", "")
		return OnRejected
	}
	return ""
}

// replaced checks the person's own plan. If it is faulty, the person is asked again and sees the faults.
func (s reviewStage) replaced(r *reply) On {
	o := s.options()
	if asked := s.start.Request.Limits.MaxSteps; asked != nil && s.start.Rules >= 1 {
		o.MaxSteps = min(*asked, o.MaxSteps) // To a model it is advice, to a person's plan the limit that the person set.
	}
	checked := plan.Check(r.plan, s.state.Cards, o)
	if checked.Plan == nil {
		s.state.Faults = checked.Faults
		return s.unsettled(&reply{on: OnUnrecognised, text: checked.Faults.Error()})
	}
	s.accept(checked.Plan, checked.Warnings)
	return OnReplaced
}
