package planning

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// investigateStage asks an expert for information before planning.
type investigateStage struct{ *core }

// enter asks the experts once. If that fails, planning continues without findings.
func (s investigateStage) enter() On {
	c := &s.state.Counts
	if !s.whole() || !s.wants(StageInvestigate) || c.Investigate > 0 {
		return OnSkipped
	}
	look := Inquiry{Query: s.state.Query, Limit: s.start.Profile.Investigate.limit()}
	if s.investigates() && (!s.start.Request.Tools.Offline() || s.start.Profile.Investigate.Needs != plan.NeedSearch) {
		look.Expert, look.Wanted = s.scout()
	}
	for _, name := range s.start.Profile.Investigate.Status {
		if id := plan.Called(s.state.Cards, name); id != "" && id != look.Expert && !slices.Contains(look.Status, id) {
			look.Status = append(look.Status, id)
		}
	}
	if look.Expert == "" && look.Wanted == "" && len(look.Status) == 0 {
		return OnSkipped
	}
	c.Investigate++
	return s.issue(c.Investigate, Command{Kind: Investigate, Look: &look})
}

// scout selects the expert that researches the request: by name, by capability, or by the end of a name. If there is none,
// wanted names what was looked for.
func (s investigateStage) scout() (id, wanted string) {
	rules := &s.start.Profile.Investigate
	if rules.Expert != "" {
		id = plan.Called(s.state.Cards, rules.Expert)
	}
	if id == "" {
		id = plan.Able(s.state.Cards, rules.Needs)
	}
	if id == "" && rules.Tool != "" {
		id = plan.Called(s.state.Cards, rules.Tool)
	}
	if id == "" {
		wanted = cmp.Or(rules.Expert, rules.Needs, rules.Tool)
	}
	return id, wanted
}

// limit is the time that an investigation may take.
func (r *InvestigateRules) limit() events.Duration {
	if r.Timeout <= 0 {
		return events.Duration(DefaultInvestigation)
	}
	return events.Duration(min(r.Timeout.Std(), MaxInvestigation))
}

// investigates reports whether an investigation is wanted: by the profile or, if the profile leaves it open, by the
// request.
func (s investigateStage) investigates() bool {
	switch s.start.Profile.Investigate.When {
	case "always":
		return true
	case "never":
		return false
	}
	return s.start.Request.Investigate != nil && *s.start.Request.Investigate
}

func (s investigateStage) take(f *Fact) On {
	s.state.Notes = append(s.state.Notes, f.Faults...)
	found := slices.DeleteFunc(slices.Clone(f.Findings), func(f Finding) bool { return strings.TrimSpace(f.Text) == "" })
	if f.Kind == Failed || len(found) == 0 {
		return OnNothing
	}
	s.state.Findings = append(s.state.Findings, found...)
	return OnFound
}
