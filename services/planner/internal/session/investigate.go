package session

import (
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// enterInvestigate has somebody look around, once. Whoever fails at it stops nothing.
func (s *Session) enterInvestigate() On {
	rules := &s.start.Profile.Investigate
	c := &s.state.Counts
	if !s.whole() || !s.wants(StageInvestigate) || c.Investigate > 0 {
		return OnSkipped
	}
	look := Inquiry{Query: s.state.Query, Status: rules.Status}
	if s.investigates() {
		look.Expert, look.Tool = plan.Able(s.state.Cards, rules.Needs), rules.Tool
	}
	if look.Expert == "" && look.Tool == "" && len(look.Status) == 0 {
		return OnSkipped
	}
	c.Investigate++
	return s.owe(c.Investigate, Command{Kind: Investigate, Look: &look})
}

// investigates asks the profile, and where that leaves it to the request, the request.
func (s *Session) investigates() bool {
	switch s.start.Profile.Investigate.When {
	case "always":
		return true
	case "never":
		return false
	}
	return s.start.Request.Investigate != nil && *s.start.Request.Investigate
}

func (s *Session) takeInvestigate(f *Fact) On {
	found := slices.DeleteFunc(slices.Clone(f.Findings), func(f Finding) bool { return strings.TrimSpace(f.Text) == "" })
	if f.Kind == Failed || len(found) == 0 {
		return OnNothing
	}
	s.state.Findings = append(s.state.Findings, found...)
	return OnFound
}
