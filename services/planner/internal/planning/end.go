package planning

import (
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/graph"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// endStage builds the outcome.
type endStage struct{ *core }

// enter builds the outcome: a plan, else an answer, else a rejection, which always has a reason.
func (s endStage) enter() On {
	if s.start.Mode == events.WorkFinalize {
		s.pending = Command{Key: string(StageEnd), Kind: End, Stage: StageEnd, End: s.report()}
		return ""
	}
	e := Ending{
		Raw: s.state.Raw, Locale: s.state.Locale, Title: s.state.Title, Rounds: s.state.Counts.Rounds,
		Calls: s.state.Counts.Triage + s.state.Counts.Draft, Fallback: s.state.Fallback,
	}
	switch {
	case s.state.Plan != nil:
		e.Finalize = s.finalize()
		e.Kind, e.Plan, e.Final, e.Warnings = events.KindGraphCreated, s.handOff(s.state.Plan), s.state.Final, append(slices.Clone(s.state.Notes), s.state.Warnings...)
		e.Keep, e.Reused = s.reusable(), s.state.Reused
		if s.start.decides() {
			e.Notices, e.FailurePolicy = s.notices(), s.failurePolicy()
		}
		if s.state.Counts.Draft > 0 {
			e.Remarks = plan.Quality(s.state.Plan)
		}
	case s.state.Answer != "":
		e.Kind, e.Answer = events.KindJobAnswered, s.state.Answer
		if s.state.Guidance {
			e.Outcome = events.OutcomeGuidance
		}
	default:
		e.Kind, e.Faults, e.Fallback = events.KindPlanRejected, s.state.Faults, ""
		e.Faults = forPeople(e.Faults)
		if len(e.Faults) == 0 {
			e.Faults = events.Faults{{Code: events.CodeInternal, Message: "planning ended without a reason", Hint: "this is a bug: report it with the request"}}
		}
	}
	if e.Kind == events.KindJobAnswered {
		e.Raw = ""
	}
	s.pending = Command{Key: string(StageEnd), Kind: End, Stage: StageEnd, End: &e}
	return ""
}

// forPeople replaces the hints in the faults of a rejection, which were lessons for the model, by hints for a person.
func forPeople(faults events.Faults) events.Faults {
	faults = slices.Clone(faults)
	for i := range faults {
		if faults[i].Code == events.CodeMalformed && faults[i].Field == "" {
			faults[i].Hint = "try again, or choose another model or profile: `jobgraph model check` says which profiles a model can plan in"
		}
	}
	return faults
}

// notices are what the person should know before the steps begin: the planner's guidance, then every warning.
func (s endStage) notices() events.Faults {
	var list events.Faults
	if said := strings.TrimSpace(s.state.Plan.GuidanceMessage); said != "" {
		list = append(list, events.Fault{Code: events.CodeGuidance, Field: "guidance_message", Message: clip.Marked(said, maxNotice)})
	}
	for _, f := range slices.Concat(s.state.Warnings, s.state.Notes) {
		if len(list) == graph.MaxNotices {
			break
		}
		f.Message, f.Cause, f.RawRef = clip.Marked(f.Message, maxNotice), clip.Marked(f.Cause, maxNotice), nil
		list = append(list, f)
	}
	return list
}

// maxNotice is the longest text of a notice, in bytes.
const maxNotice = 400

// failurePolicy is the profile's, for a request without one.
func (s endStage) failurePolicy() events.FailurePolicy {
	if s.start.Request.FailurePolicy != "" || !s.whole() {
		return ""
	}
	return s.start.Profile.FailurePolicy
}
