package planning

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// fallbackStage finds a plan when no draft was valid.
type fallbackStage struct{ *core }

// enter tries the profile's fallback levels in order. It does not run a made-up plan merely because the model cannot be
// reached.
func (s fallbackStage) enter() On {
	faults := s.state.Faults
	if s.editing() {
		return s.keep(faults)
	}
	for _, rung := range s.start.Profile.Fallback {
		var p *events.Plan
		switch {
		case rung == RungEarlier:
			p = s.state.Plan
		case s.state.Unreachable || !s.whole():
		case rung == RungSingle:
			p = s.single("")
		case rung == RungSteps:
			p = s.steps()
		}
		if p != nil {
			s.state.Fallback = rung
			s.accept(p, append(slices.Clone(s.state.Warnings), faults...))
			if on := s.finaliser(); on == OnValid {
				return on
			}
			faults = append(slices.Clone(faults), s.state.Faults...)
		}
		if rung == RungGuidance {
			s.guide(faults)
			return OnExhausted
		}
	}
	s.state.Faults, s.state.Plan = faults, nil
	return OnExhausted
}

// editField is the field of the warning about an edit that is missing in a plan.
const editField = "edit"

// keep returns to the person with the plan that they wanted to change, and with the reasons why it did not change.
func (s fallbackStage) keep(faults events.Faults) On {
	reasons := make([]string, 0, len(faults))
	for i := range faults {
		reasons = append(reasons, lesson(&faults[i]))
	}
	s.state.Fallback = RungEarlier
	s.accept(s.state.Plan, append(slices.Clone(s.state.Warnings), events.Fault{
		Code: events.CodeRejected, Field: editField, Message: clip.Marked("the last edit was not worked in: "+strings.Join(reasons, "; "), maxMessage),
	}))
	s.unworkable(reasons...)
	return s.finaliser()
}

// guide puts what the person should do before the faults.
func (s fallbackStage) guide(faults events.Faults) {
	s.state.Plan, s.state.Faults = nil, faults
	prompt, ok := s.render("guidance")
	if !ok {
		return
	}
	first := events.Fault{Code: events.CodeRejected, Message: clip.Marked(strings.TrimSpace(prompt.User), maxPrompt)}
	if len(faults) == 1 { // The guidance says all of it.
		first.Code, first.Cause, first.Hint = faults[0].Code, faults[0].Cause, faults[0].Hint
		s.state.Faults = events.Faults{first}
		return
	}
	if len(faults) > 0 {
		first.Code = faults[0].Code
	}
	s.state.Faults = append(events.Faults{first}, faults...)
}

// single returns a plan of one step for the expert that fits the request best, or nil if there is none.
func (s *core) single(context string) *events.Plan {
	expert := plan.Best(s.state.Query, s.state.Cards, s.start.DefaultExpert)
	if expert == "" {
		return nil
	}
	r := s.start.Request
	r.Expert, r.Goal, r.Locale = expert, s.state.Query, s.state.Locale
	if context != "" {
		r.Context = strings.TrimSpace(r.Context + "\n\n" + context)
	}
	return plan.Single(&r, s.state.Cards, s.start.Rules).Plan
}

// steps returns a plan of three steps that fits any request: analyse, execute, verify.
func (s fallbackStage) steps() *events.Plan {
	expert := plan.Best(s.state.Query, s.state.Cards, s.start.DefaultExpert)
	if expert == "" {
		return nil
	}
	raw, err := json.Marshal(plan.ThreeSteps(s.state.Query, s.state.Locale))
	if err != nil {
		return nil
	}
	o := s.options()
	o.DefaultExpert = expert
	return plan.Check(raw, s.state.Cards, o).Plan
}
