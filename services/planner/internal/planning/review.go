package planning

import (
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// reviewStage asks the person to accept, edit or reject the plan.
type reviewStage struct{ approval }

// enter shows the plan to the person, if a review is wanted. If something is missing and no person is asked, the policy for
// that decides.
func (s reviewStage) enter() On {
	switch asked := s.reviewed(); {
	case s.start.Mode == events.WorkSplit || !asked && !s.lacking() || asked && s.confirmedWhole() && !s.lacking():
		return OnSkipped
	case !asked && (s.approved() || s.unanswered() == events.Assume):
		s.assume()
		return OnSkipped
	case !asked:
		return s.lacks(OnRejected)
	case s.start.unattended():
		return s.silent()
	}
	options := []string{"accept", "edit", "reject"}
	if s.last() {
		options = []string{"accept", "reject"}
	}
	silence := `{"action":"reject"}`
	if s.onSilence() == "accept" {
		silence = `{"action":"accept"}`
	}
	return s.put("review", &s.state.Counts.Review, events.InputRequested{
		Kind: events.InputReview, Options: options, Schema: s.schema(), Default: []byte(silence),
		Open: s.questioned() && !s.last(), // What is missing may be said in any words.
	})
}

// maxOwn limits the plan that a question has as an example, in bytes.
const maxOwn = 32 << 10

// schema is the JSON Schema of an answer. It contains the plan under review as the example of a plan, for pages that draw it,
// unless it is too large.
func (s reviewStage) schema() []byte {
	own := ownPlan
	if text := compact(s.state.Plan); text != "" && len(text) <= maxOwn {
		own += `,"examples":[` + text + `]`
	}
	return []byte(`{"anyOf":[` + answerForms + `,` + own + `}]}`)
}

// reviewed reports whether a person is asked.
func (s reviewStage) reviewed() bool {
	return s.wants(StageReview) && (s.demanded() || s.questioned() || s.edited())
}

// demanded reports whether the profile or, if it leaves it open, the request wants a review of every plan.
func (s reviewStage) demanded() bool {
	switch s.start.Profile.Review.When {
	case "always":
		return true
	case "never":
		return false
	}
	accept := s.start.Request.AutoAccept
	return accept != nil && !*accept
}

// questioned reports whether the person is asked only because the model says that something is missing.
func (s reviewStage) questioned() bool {
	return !s.demanded() && s.lacking() && !s.state.Assumed && s.reachable()
}

// edited reports whether the person has changed the plan that they were asked about, and has to see it again.
func (s reviewStage) edited() bool {
	return s.start.decides() && s.state.Counts.Review > 0 && len(s.state.Wishes) > 0 && s.reachable()
}

// reachable reports whether a person may be asked about a plan without a demand for a review.
func (s reviewStage) reachable() bool {
	return !s.approved() && !s.start.unattended() && s.start.Profile.Review.When != "never"
}

// lacking reports whether a model's plan for the whole job says that it does not have enough context.
func (s *core) lacking() bool {
	p := s.state.Plan
	drafted := s.state.Counts.Rounds > 0 || s.state.Reused
	return s.start.decides() && s.whole() && drafted && p != nil && p.HasEnoughContext != nil && !*p.HasEnoughContext
}

// approved reports whether the request accepts every plan.
func (s *core) approved() bool {
	return s.start.Request.AutoAccept != nil && *s.start.Request.AutoAccept
}

// onSilence returns the meaning of a missing answer: the policy of the profile, or that for missing context.
func (s reviewStage) onSilence() string {
	if !s.questioned() {
		return s.start.Profile.Review.OnExpiry
	}
	if s.unanswered() == events.Assume {
		return "accept"
	}
	return "reject"
}

// silent handles a review that no person answers.
func (s reviewStage) silent() On {
	switch accepted := s.onSilence() == "accept"; {
	case s.questioned() && accepted:
		s.assume()
	case s.questioned():
		return s.lacks(OnExpired)
	case !accepted && s.start.unattended():
		s.unreviewed()
	case !accepted:
		s.dropped("no one reviewed the plan in time", "")
	}
	return OnExpired
}

// unreviewed ends planning because the profile wants a review of every plan, which an unattended request does not override.
func (s reviewStage) unreviewed() {
	s.state.Plan = nil
	s.state.Faults = events.Faults{{
		Code: events.CodeRejected, Field: "unattended", Message: "profile " + s.start.Profile.Name + " has every plan reviewed by a person, and the request is unattended",
		Hint: `say "unattended": false and answer, name another profile, or let this one run what no one reviews: review: {on_expiry: accept}`,
	}}
}

func (s reviewStage) take(f *Fact) On {
	s.state.Unworked = nil
	if f.Action == events.Cancelled {
		s.dropped("no one reviewed the plan in time", "")
		return OnExpired
	}
	if f.Action != events.Answered {
		return s.silent()
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
	case OnUnrecognised:
		if on := s.completed(&r); on != "" {
			return on
		}
	}
	return s.unsettled(&r)
}

// completed uses an answer in the person's own words as the missing information, while another round is left; otherwise it returns
// "".
func (s reviewStage) completed(r *reply) On {
	said := strings.TrimSpace(r.text)
	if !s.questioned() || said == "" || s.last() { // Without a round left it could not be applied.
		return ""
	}
	s.state.Told = append(s.state.Told, clip.Marked(said, maxQuery))
	s.state.Query = combined(s.start.goal(), s.state.Told)
	s.state.Reminders, s.state.Editing = 0, true
	return OnEdited
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
