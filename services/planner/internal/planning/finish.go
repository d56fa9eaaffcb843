package planning

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/services/planner/internal/finish"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// Author says who wrote the text of a result.
type Author string

// The authors.
const (
	ByModel   Author = "model"
	ByStandIn Author = "stand_in"  // The expert that stands in for the model.
	ByRule    Author = "fixed"     // No author: a fixed text around the results.
	HandedOn  Author = "handed_on" // No author yet: the stand-in is asked to write.
)

const (
	// mostWritings is how often a model is asked for the same text.
	mostWritings = 2
	// materialBytes limits the results in a prompt if the profile sets no limit.
	materialBytes = 32 << 10
)

// finalize returns how the plan's result is written up: as the request says, else as the profile says, including that it wants no
// text. In all other cases it is empty, and the job's rules decide.
func (s *core) finalize() string {
	form := s.start.Request.Finalize
	if form == "" {
		form = s.start.Profile.Finalize
	}
	switch {
	case !s.start.Words:
		return ""
	case form == "none" && s.start.Request.Finalize == "":
		return form
	case form != finish.Summary && form != finish.Report:
		return ""
	}
	if s.state.Final != nil {
		form += ":" + s.state.Final.ID
	}
	return form
}

// standIn finds the expert that writes when the model cannot.
func (s *core) standIn() {
	if form := s.finalize(); form != "" && form != "none" && s.state.Final == nil {
		s.state.Final = plan.StandIn(s.state.Cards, s.start.DefaultExpert)
	}
}

// finishStage has a model write the summary or report.
type finishStage struct{ *core }

// enter asks the model for the text, unless all attempts are used.
func (s finishStage) enter() On {
	m := s.start.Finish
	switch {
	case m == nil:
		return OnMissing
	case m.Written:
		return s.word(m.Text, ByStandIn)
	case !s.start.Model:
		s.state.Faults = events.Faults{{Code: events.CodeNoPlanner, Message: "there is no model", Hint: "give the planner a model"}}
		return s.wordless()
	}
	prompt, ok := s.render(m.Form)
	if !ok {
		return s.wordless()
	}
	s.state.Counts.Finish++
	return s.issue(s.state.Counts.Finish, Command{Kind: Call, Call: &ModelCall{Role: "report", Messages: messages(prompt)}})
}

func (s finishStage) take(f *Fact) On {
	text := finish.Unfenced(finish.Marked(f.Text))
	if f.Kind == Answered && text != "" {
		return s.word(s.verified(text), ByModel)
	}
	again := f.Kind == Answered
	switch f.Class {
	case ClassTooLong:
		again, s.state.Short = !s.state.Short, true
	case ClassCut, ClassBroken, ClassMalformed:
		again = true
	}
	fault := events.Fault{Code: events.CodeMalformed, Message: "the answer is empty"}
	if f.Kind == Failed {
		fault = failure(f)
		fault.Hint = ""
	}
	s.state.Faults = events.Faults{fault}
	if again && s.state.Counts.Finish < mostWritings {
		return OnFaulty
	}
	return s.wordless()
}

// verified marks or removes the sources in a model's text that nothing in the job contains, as the profile says.
func (s finishStage) verified(text string) string {
	if s.start.Rules < 1 || s.start.Finish.Unsearched {
		return text
	}
	var known finish.Known
	r, m := &s.start.Request, s.start.Finish
	known.Add(r.Goal, r.Context, s.state.Query, m.Title, m.Thought)
	known.Add(m.Given...)
	for i := range m.Steps {
		known.Add(m.Steps[i].Title, m.Steps[i].Goal)
		known.AddJSON(json.RawMessage(m.Steps[i].Text))
	}
	for i := range m.Sources {
		known.Add(m.Sources[i].URL)
	}
	for _, turn := range s.start.History {
		known.Add(turn.User, turn.Answer)
	}
	how, mark, hint := cmp.Or(s.start.Profile.Citations, finish.Mark), " (not verified)", "they are marked; citations of the profile also takes them out, or keeps them"
	if plan.Chinese(s.state.Locale) {
		mark = "（未核实）"
	}
	if how == finish.Remove {
		hint = "they are taken out; citations of the profile marks them instead"
	}
	verified, unknown := finish.Verify(text, &known, how, mark)
	if len(unknown) > 0 {
		s.state.Warnings = append(s.state.Warnings, events.Fault{
			Code: events.CodeDangling, Field: "citations", Hint: hint,
			Message: clip.Marked("no result and no input of the job contains these sources: "+strings.Join(unknown, ", "), maxMessage),
		})
	}
	return verified
}

// wordless continues without the model: with its stand-in, else with a fixed text.
func (s finishStage) wordless() On {
	if s.start.Finish.StandIn != "" {
		s.state.Author = HandedOn
		return OnExhausted
	}
	return s.word("", ByRule)
}

// word stores the text for people; if it is empty, the results themselves.
func (s finishStage) word(text string, by Author) On {
	if text = strings.TrimSpace(text); text == "" {
		by = ByRule
	}
	s.state.Author, s.state.Words = by, text
	prompt, ok := s.render("closing")
	if s.state.Answer = strings.TrimSpace(prompt.User); !ok || s.state.Answer == "" {
		s.state.Answer = cmp.Or(text, "Plan completed.")
	}
	return OnAnswered
}

// brief is the request to the stand-in: the prompt of the model without the results, which the stand-in gets in any case.
func (s endStage) brief() string {
	v := s.vars()
	v.Findings = ""
	p, err := s.ports.Render(s.named(s.start.Finish.Form), s.state.Locale, v)
	if err != nil {
		return ""
	}
	return clip.Marked(strings.TrimSpace(p.System+"\n\n"+p.User), maxPrompt)
}

// report is the ending of a finishing run.
func (s endStage) report() *Ending {
	e := Ending{Kind: events.KindSubJobReported, Author: s.state.Author, Locale: s.state.Locale, Calls: s.state.Counts.Finish, Faults: s.state.Faults}
	e.Report = &events.SubJobReported{Outcome: events.Success}
	if s.start.Finish != nil {
		e.Report.Artifacts = s.start.Finish.Artifacts
	}
	e.Report.Warnings = s.state.Warnings
	if s.state.Answer != "" {
		text, err := json.Marshal(s.state.Answer)
		if err == nil {
			e.Report.Output = text
			return &e
		}
	}
	fault := events.Fault{Code: events.CodeInternal, Message: "the work says nothing of what was carried out", Hint: "this is a bug: report it with the job"}
	if len(s.state.Faults) > 0 {
		fault = s.state.Faults[0]
	}
	e.Report.Outcome, e.Report.Error, e.Report.Artifacts = events.ExecutionError, &fault, nil
	if s.start.Finish != nil {
		e.Report.Lesson = s.brief()
	}
	return &e
}

// material fills the variables of prompts from the executed steps.
func (s *core) material(v *Vars) {
	m := s.start.Finish
	v.Report, v.Title, v.Thought, v.Words, v.Steps = m.Form == finish.Report, m.Title, m.Thought, s.state.Words, m.Steps
	v.Sources = m.Sources
	if s.state.Author != "" {
		v.Sources = finish.Lacking(v.Words, m.Sources)
	}
	most := s.start.Profile.Limits.FindingBytes
	if most <= 0 {
		most = materialBytes
	}
	if s.state.Short {
		most /= 4
	}
	var list []Finding
	for _, step := range finish.Fit(m.Steps, most, clip.Marked) {
		list = append(list, Finding{Source: step.ID, Title: step.Name(), Text: step.Text})
	}
	const tags = 1 << 10 // More than the tags around one finding take.
	v.Findings = Delimited(list, most+tags*len(list))
}
