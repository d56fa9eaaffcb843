package planning

import (
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// decides reports whether planning began with version 1 of the decisions or a later one.
func (t *Start) decides() bool { return t.Decisions >= 1 }

// unattended reports whether the request says that no person can answer.
func (t *Start) unattended() bool {
	alone := t.Request.Unattended
	return t.decides() && alone != nil && *alone
}

// unanswered says what to do if something is missing and no person supplies it: the request's policy, else the profile's.
func (s *core) unanswered() events.Unanswered {
	switch {
	case s.start.Request.Unanswered != "":
		return s.start.Request.Unanswered
	case s.start.Profile.Review.Unanswered != "":
		return s.start.Profile.Review.Unanswered
	}
	return events.Assume
}

// asks reports whether the profile has a stage that asks a person about the request or its plan.
func (s *core) asks() bool {
	return s.wants(StageClarify) || s.wants(StageReview) || s.wants(StageConfirm)
}

// clarifications is how many questions about the request may be asked; one if the profile asks people but sets no number.
func (s *core) clarifications() int {
	most := s.start.Profile.Limits.Clarifications
	if most == 0 && s.start.decides() && s.state.Counts.Draft > 0 && s.asks() {
		most = 1
	}
	return most
}

// missing handles a draft without steps because something is missing: it asks the person. If that is not possible, the model is
// asked once more, to make assumptions, or planning fails, as the policy says.
func (s draftStage) missing(asked []plan.Question) On {
	s.state.Attempt = 0
	switch {
	case !s.state.Assumed && s.asks() && !s.approved() && !s.start.unattended() && s.state.Counts.Clarify < s.clarifications():
		s.state.Question, s.state.Options, s.state.Asking = asked[0].Prompt, nil, asked[1:]
		return OnUnclear
	case !s.state.Assumed && (s.approved() || s.unanswered() == events.Assume):
		s.state.Assumed = true
		s.state.Counts.Rounds-- // It is the same round again, under another condition.
		return OnFaulty
	}
	s.state.Question = asked[0].Prompt
	return s.lacks(OnRefused)
}

// lacks ends planning because something is missing that no person supplied.
func (s *core) lacks(on On) On {
	what := s.state.Question
	if s.state.Plan != nil {
		what = s.state.Plan.Thought
	}
	s.state.Plan = nil
	s.state.Faults = events.Faults{{
		Code: events.CodeMissingContext, Field: "goal", Message: clip.Marked("something is missing in the request: "+strings.TrimSpace(what), maxMessage),
		Cause: "no person said it", Hint: `say it in the request, or plan on with assumptions: "unanswered": "assume"`,
	}}
	return on
}

// assume continues with a plan although something is missing, and says so.
func (s *core) assume() {
	s.state.Assumed = true
	s.state.Warnings = append(s.state.Warnings, events.Fault{
		Code: events.CodeMissingContext, Field: "has_enough_context", Message: clip.Marked("planned with assumptions: "+strings.TrimSpace(s.state.Plan.Thought), maxMessage),
		Hint: "say what is missing in the request, or answer the planner's question",
	})
}

// editing reports whether a person's edit is being applied while their plan is still valid.
func (s *core) editing() bool { return s.start.decides() && s.state.Editing && s.state.Plan != nil }

// unworkable records why the person's edit could not be applied, for the next question to them.
func (s *core) unworkable(reasons ...string) {
	s.state.Editing, s.state.Unworked = false, nil
	for _, why := range reasons {
		if why = strings.TrimSpace(why); why != "" {
			s.state.Unworked = append(s.state.Unworked, clip.Marked(why, maxMessage))
		}
	}
}
