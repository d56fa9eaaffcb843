package planning

import (
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// clarifyStage asks the person what the request means.
type clarifyStage struct{ *core }

// enter asks the person, at most as often as the profile allows.
func (s clarifyStage) enter() On {
	c := &s.state.Counts
	if !s.whole() || !s.wants(StageClarify) && !s.drafted() || c.Clarify >= s.clarifications() {
		return OnSkipped
	}
	if s.start.unattended() {
		return s.silent()
	}
	c.Clarify++
	return s.ask(c.Clarify, events.InputRequested{
		Kind: events.InputClarification, Prompt: clip.Marked(s.state.Question, maxMessage), Options: s.state.Options,
		Default: []byte(`{"action":"expired"}`),
	})
}

// drafted reports whether the question is one of the planner, in a profile that asks people about plans only.
func (s clarifyStage) drafted() bool {
	return s.start.decides() && s.state.Counts.Draft > 0 && s.asks()
}

// silent handles a question that no person answers: planning continues with assumptions, or fails.
func (s clarifyStage) silent() On {
	if s.unanswered() != events.Assume {
		s.state.Plan = nil
		return s.lacks(OnRejected)
	}
	s.state.Assumed, s.state.Asking = true, nil
	return OnExpired
}

func (s clarifyStage) take(f *Fact) On {
	said := textOf(f.Answer)
	switch {
	case f.Action == events.Answered && said != "":
	case s.start.decides():
		return s.silent()
	default:
		return OnExpired
	}
	s.state.Told = append(s.state.Told, said)
	s.state.Query = combined(s.start.goal(), s.state.Told)
	if len(s.state.Asking) > 0 {
		s.state.Question, s.state.Options, s.state.Asking = s.state.Asking[0].Prompt, nil, s.state.Asking[1:]
		return OnUnclear
	}
	return OnTold
}

// combined joins the request and the person's answers: "request - a, b". An answer that repeats the previous one counts
// once.
func combined(head string, told []string) string {
	var parts []string
	for i, said := range told {
		if i == 0 || said != told[i-1] {
			parts = append(parts, said)
		}
	}
	if len(parts) == 0 {
		return head
	}
	return head + " - " + strings.Join(parts, ", ")
}

// ask issues a question as the command of the stage. A question that may expire gets a default, so that planning continues then.
func (s *core) ask(n int, in events.InputRequested) On {
	in.Request = s.start.RequestID(key(s.state.Stage, n))
	in.User = s.start.Request.User
	in.ExpiresIn = s.start.Profile.Review.Expires
	if most := s.start.Request.Limits.Answer; most != nil && s.start.decides() {
		in.ExpiresIn = *most
	}
	if in.ExpiresIn == 0 {
		in.Default = nil
	}
	return s.issue(n, Command{Kind: Ask, Ask: &in})
}
