package planning

import (
	"slices"
	"strings"
	"unicode"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// beginStage decides where planning begins: with the caller's plan, with a stored plan, with a model, or not at all.
type beginStage struct{ *core }

// enter decides whether a model is needed and whether one is available.
func (s beginStage) enter() On {
	r := &s.start.Request
	switch {
	case s.start.Mode == events.WorkFinalize:
		return OnDone
	case s.start.Mode == events.WorkPlan && (len(r.Plan) > 0 || strings.TrimSpace(r.Expert) != ""):
		return OnGiven
	case s.start.Mode != events.WorkPlan && s.start.Mode != events.WorkReplan && s.start.Mode != events.WorkSplit,
		s.start.Mode == events.WorkSplit && s.start.Part == nil, !s.start.Model:
		d := plan.Decide(s.work(), nil, s.state.Cards, s.options())
		s.state.Faults = d.Faults
		return OnMissing
	case s.reuse():
		return OnReused
	case s.start.Mode == events.WorkPlan:
		return OnWhole
	}
	return OnPart
}

// work builds the planning work that package plan expects, for decisions without a model.
func (s *core) work() *events.Work {
	w := &events.Work{Kind: s.start.Mode, Request: &s.start.Request, MaxSteps: s.start.MaxSteps, Finished: s.start.Finished}
	if s.start.Part != nil {
		w.SubJob = s.start.Part.ID
	}
	return w
}

// givenStage checks the plan or expert that the caller gave.
type givenStage struct{ *core }

// enter checks the plan of the caller. If nothing but experts is missing, it waits for them.
func (s givenStage) enter() On {
	d := plan.Decide(s.work(), s.start.Request.Plan, s.state.Cards, s.options())
	s.state.Faults, s.state.Warnings, s.state.Final = d.Faults, d.Warnings, d.Final
	switch {
	case d.Absent() && !s.state.Unreachable:
		s.state.Counts.Await++
		return s.issue(s.state.Counts.Await, Command{Kind: Await})
	case len(d.Faults) > 0:
		return OnExhausted
	case d.Plan == nil:
		s.state.Answer, s.state.Guidance = d.Answer, s.start.decides()
		return OnAnswered
	}
	s.state.Plan = d.Plan
	s.standIn()
	return OnValid
}

// take handles a new set of cards. Unreachable means here that the wait is over.
func (s givenStage) take(f *Fact) On {
	s.state.Cards, s.state.Unreachable = f.Cards, f.Waited
	return OnAbsent
}

// options returns the options of plan checks, without the limit for drafts, which the callers that check drafts add.
func (s *core) options() plan.Options {
	o := s.ports.Plan
	o.MaxSteps, o.Done, o.Known = s.start.MaxSteps, s.start.Finished, s.start.Known
	o.Informed, o.Retries = s.start.Informed, s.start.Request.Limits.Retries
	o.Version, o.Locale = s.start.Rules, s.state.Locale
	o.Discreet, o.Timezone = s.start.decides(), s.start.Request.Timezone
	if s.start.DefaultExpert != "" {
		o.DefaultExpert = s.start.DefaultExpert
	}
	return o
}

// maxSteps is how many steps a model is asked to write at most: the request's number, else the profile's, and never above the
// job's. It is advice: a longer plan is shortened. A person's plan is limited only by the job.
func (s *core) maxSteps() int {
	most := s.start.Profile.Limits.Steps
	if asked := s.start.Request.Limits.MaxSteps; asked != nil {
		most = *asked
	}
	switch job := s.start.MaxSteps; {
	case most <= 0:
		return job
	case job <= 0:
		return most
	default:
		return min(most, job)
	}
}

// maxRounds is how often the plan may be drafted; at least once.
func (s *core) maxRounds() int {
	most := s.start.Profile.Limits.Rounds
	if asked := s.start.Request.Limits.MaxPlanRounds; asked != nil {
		most = *asked
	}
	if s.start.MaxRounds > 0 {
		most = s.start.MaxRounds
	}
	return max(1, most)
}

// wants reports whether the profile includes a stage.
func (s *core) wants(stage Stage) bool { return slices.Contains(s.start.Profile.Stages, stage) }

// whole is true for the first plan of the whole job. Only then are people asked what they want.
func (s *core) whole() bool { return s.start.Mode == events.WorkPlan }

// goal is the text to plan for, as its author wrote it.
func (t *Start) goal() string {
	if t.Mode == events.WorkSplit && t.Part != nil {
		return t.Part.Goal
	}
	return t.Request.Goal
}

// locale is the language of texts for people: that of the request, else that of the goal, else the profile's.
func (t *Start) locale() string {
	switch {
	case t.Request.Locale != "":
		return t.Request.Locale
	case Chinese(t.goal()):
		return "zh-CN"
	case t.Profile.Locale != "":
		return t.Profile.Locale
	}
	return "en-US"
}

// Chinese reports whether more than a fifth of the letters are Han characters and none are kana or Hangul.
func Chinese(text string) bool {
	han, letters := 0, 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			return false
		case unicode.Is(unicode.Han, r):
			han++
			letters++
		case unicode.IsLetter(r):
			letters++
		}
	}
	return han > 0 && han*5 > letters
}
