package planning

import (
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/events/moment"
)

// JSON Schemas of the answers to a confirmation and to a review. A person may also answer in words; see understand.
const (
	answerForms = `{"type":"string","description":"accept, reject, or edit: and what is wanted otherwise"},` +
		`{"type":"object","required":["action"],"properties":{"action":{"type":"string","enum":["accept","edit","reject"]},"text":{"type":"string"}}},` +
		`{"type":"object","required":["approved"],"properties":{"approved":{"type":"boolean"},"reason":{"type":"string"}}}`
	confirmSchema = `{"anyOf":[` + answerForms + `]}`
	ownPlan       = `{"type":["object","array"],"description":"a plan of one's own, in any dialect"`
)

// confirmStage asks the person to confirm recurring steps.
type confirmStage struct{ approval }

// enter asks before a model's plan may make anything recur, unless the request itself says "confirm". A plan supplied by the caller
// needs no confirmation.
func (s confirmStage) enter() On {
	recurs := slices.ContainsFunc(s.state.Plan.SubJobs, func(j events.SubJob) bool { return j.Schedule != nil })
	if s.state.Counts.Rounds == 0 || !s.whole() || !s.wants(StageConfirm) || !recurs || s.state.Confirmed || confirmed(s.start.Request.Goal) {
		return OnSkipped
	}
	if s.start.unattended() {
		s.dropped("a schedule has to be confirmed, and the request is unattended", "")
		s.state.Faults[0].Hint = `begin the goal with "confirm" to confirm it beforehand, or send the request with a "schedule"`
		return OnRejected
	}
	options := []string{"accept", "edit", "reject"}
	if s.last() {
		options = []string{"accept", "reject"}
	}
	return s.put("confirm", &s.state.Counts.Confirm, events.InputRequested{
		Kind: events.InputApproval, Options: options, Schema: []byte(confirmSchema), Default: []byte(`{"action":"reject"}`),
	})
}

func (s confirmStage) take(f *Fact) On {
	s.state.Unworked = nil
	if f.Action != events.Answered {
		s.dropped("no one confirmed the schedule in time", "")
		return OnExpired
	}
	r := s.understood(f.Answer)
	switch r.on {
	case OnAccepted:
		s.state.Confirmed, s.state.Reminders = true, 0
		if r.now {
			s.atOnce()
		}
		return OnAccepted
	case OnRejected:
		s.dropped("the schedule was not confirmed", r.text)
		return OnRejected
	}
	return s.unsettled(&r)
}

// atOnce has every schedule of the plan begin its first run at once.
func (s confirmStage) atOnce() {
	p := *s.state.Plan
	p.SubJobs = slices.Clone(p.SubJobs)
	for i := range p.SubJobs {
		if when := p.SubJobs[i].Schedule; when != nil {
			first := *when
			first.FirstRun = moment.FirstNow
			p.SubJobs[i].Schedule = &first
		}
	}
	s.state.Plan = &p
}

// approval is the common part of the stages that ask about a finished plan.
type approval struct{ *core }

// put asks the person, with a text from the prompts.
func (s approval) put(name string, count *int, in events.InputRequested) On {
	prompt, ok := s.render(name)
	if !ok {
		s.state.Plan = nil
		return OnRejected
	}
	*count++
	in.Prompt = clip.Marked(strings.TrimSpace(prompt.User), maxPrompt)
	return s.ask(*count, in)
}

// last reports whether no further edit can be made.
func (s *core) last() bool { return s.state.Counts.Rounds >= s.maxRounds() || !s.start.Model }

// unsettled accepts an edit while another round is left. Any other answer repeats the question, up to the limit.
func (s approval) unsettled(r *reply) On {
	if r.on == OnEdited && !s.last() {
		s.state.Wishes = append(s.state.Wishes, clip.Marked(r.text, maxQuery))
		s.state.Reminders, s.state.Confirmed, s.state.Editing = 0, false, true
		return OnEdited
	}
	s.state.Beyond = r.on == OnEdited
	if s.state.Reminders++; s.state.Reminders > s.start.Profile.Limits.Reminders {
		message := "the answers were not understood"
		if s.state.Beyond {
			message = "no round was left for another edit"
		}
		s.dropped(message, r.text)
		return OnRejected
	}
	return OnUnrecognised
}

// dropped ends planning because the person does not want the plan.
func (s approval) dropped(message, reason string) {
	s.state.Plan = nil
	s.state.Faults = events.Faults{{
		Code: events.CodeRejected, Message: message, Cause: clip.Marked(reason, maxMessage), Hint: "recover the job to plan it again, or submit it again",
	}}
}

// confirmed reports whether the request itself says that its schedule is confirmed.
func confirmed(goal string) bool {
	first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(goal)), " ")
	first = strings.Trim(first, ".,:;!，。：；！")
	if first == "confirm" || first == "confirmed" {
		return true
	}
	return strings.HasPrefix(goal, "确认")
}
