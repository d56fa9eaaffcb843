package planning

import (
	"slices"

	"github.com/jobgraph/jobgraph/pkg/events"
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
		if s.state.Counts.Draft > 0 {
			e.Remarks = plan.Quality(s.state.Plan)
		}
	case s.state.Answer != "":
		e.Kind, e.Answer = events.KindJobAnswered, s.state.Answer
	default:
		e.Kind, e.Faults, e.Fallback = events.KindPlanRejected, s.state.Faults, ""
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
