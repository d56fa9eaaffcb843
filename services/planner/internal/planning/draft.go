package planning

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// draftStage asks a model for the plan and checks it.
type draftStage struct{ *core }

// enter asks for a plan. The first prompt of a round contains the request and the person's wishes; each later one also
// contains the faulty draft and all its faults.
func (s draftStage) enter() On {
	c := &s.state.Counts
	if s.state.Attempt == 0 {
		c.Rounds++
		s.state.Faults, s.state.Raw = nil, ""
	}
	prompt, ok := s.render(s.prompt())
	if !ok {
		return OnExhausted
	}
	list := messages(prompt)
	if s.state.Attempt > 0 {
		lesson, ok := s.render("repair")
		if !ok {
			return OnExhausted
		}
		if raw := clip.Marked(s.state.Raw, s.start.Profile.Limits.rawBytes()); strings.TrimSpace(raw) != "" {
			list = append(list, Message{Role: "assistant", Text: raw})
		}
		list = append(list, Message{Role: "user", Text: lesson.User})
	}
	s.state.Attempt++
	c.Draft++
	schema, strict := plan.DraftSchema(plan.Dialect(s.start.Profile.Dialect), s.state.Cards, s.maxSteps())
	return s.issue(c.Draft, Command{Kind: Call, Call: &ModelCall{
		Role: "planner", Messages: list, Schema: schema, Name: "plan", Strict: strict,
	}})
}

// prompt names the prompt: for splitting a SubJob, for replanning the remainder, or for planning.
func (s draftStage) prompt() string {
	switch s.start.Mode {
	case events.WorkSplit:
		return "split"
	case events.WorkReplan:
		return "replan"
	}
	return "draft"
}

func (s draftStage) take(f *Fact) On {
	on := s.judgeText(f)
	d := &s.state.Drafts
	switch unusable := on == OnFaulty || on == OnExhausted; {
	case f.Kind == Failed:
		d.Failed++
	case unusable && len(s.state.Faults) > 0 && s.state.Faults[0].Code == events.CodeMalformed:
		d.Unreadable++
	case unusable:
		d.Faulty++
	default:
		d.Valid++
	}
	return on
}

func (s draftStage) judgeText(f *Fact) On {
	if f.Text != "" {
		s.state.Raw = f.Text
	}
	if f.Kind == Failed {
		return s.failed(f)
	}
	raw, err := s.read(f.Text)
	if guess, ok := errors.AsType[*GuessError](err); ok {
		return s.faulty(events.Faults{ambiguous(guess)})
	}
	if err != nil && len(raw) == 0 {
		return s.faulty(events.Faults{malformed(f.Text, err)})
	}
	o := s.options()
	if o.Draft = s.rules(); s.start.Rules < 1 {
		o.MaxSteps = s.maxSteps()
	}
	r := plan.Check(raw, s.state.Cards, o)
	if err != nil {
		r.Faults = append(events.Faults{malformed(f.Text, err)}, r.Faults...)
		if s.start.Careful {
			return s.faulty(r.Faults)
		}
	}
	return s.judge(&r)
}

// read finds the plan in a text, also if the model put it inside a message.
func (s draftStage) read(text string) (json.RawMessage, error) {
	schema, _ := plan.DraftSchema(plan.Dialect(s.start.Profile.Dialect), s.state.Cards, s.maxSteps())
	want := Wanted{Use: "plan", Schema: schema, Careful: s.start.Careful, Fits: func(raw json.RawMessage) bool {
		_, wrapped := plan.Unwrap(raw)
		return wrapped || plan.Recognised(raw)
	}}
	raw, err := s.ports.Read(text, &want)
	if err != nil || plan.Recognised(raw) {
		return raw, err
	}
	inner, _ := plan.Unwrap(raw)
	var words string
	if json.Unmarshal(inner, &words) != nil {
		return inner, nil
	}
	want.Fits = plan.Recognised
	return s.ports.Read(words, &want)
}

// rules returns the profile's rules for drafts of models.
func (s draftStage) rules() *plan.DraftRules {
	p := &s.start.Profile
	return &plan.DraftRules{Search: p.Plan.Search && !s.start.Request.Tools.Offline(), Offline: s.start.Request.Tools.Offline(), Capabilities: p.Schedule.Capabilities, Strip: p.Schedule.Strip, Locale: s.state.Locale, Advised: s.maxSteps()}
}

// judge decides what follows from a checked draft.
func (s draftStage) judge(r *plan.Result) On {
	head := &r.Head
	said := head.GuidanceMessage
	if said == "" {
		said = head.Reason
	}
	switch {
	case s.editing() && declined(r, said) != "":
		s.state.Faults, s.state.Attempt = events.Faults{{Code: events.CodeRejected, Message: clip.Marked(declined(r, said), maxMessage)}}, 0
		return OnExhausted
	case s.start.decides() && s.whole() && len(r.Questions) > 0:
		return s.missing(r.Questions)
	case s.start.decides() && s.whole() && r.Steps == 0 && head.HasEnoughContext != nil && !*head.HasEnoughContext && (head.Adequate == nil || *head.Adequate):
		return s.missing([]plan.Question{{Prompt: cmp.Or(strings.TrimSpace(said), strings.TrimSpace(head.Thought), s.state.Query)}})
	case head.Adequate != nil && !*head.Adequate && s.whole() && s.start.Profile.Plan.Inadequate != "reject" && strings.TrimSpace(said) != "":
		return s.inadequate(said)
	case r.Answer != "" && s.whole():
		s.state.Answer, s.state.Guidance = r.Answer, s.start.decides()
		return OnAnswered
	case r.Answer != "":
		return s.faulty(events.Faults{{Code: events.CodeMissing, Field: "subjobs", Message: "the plan has no steps", Hint: "give the steps; an answer is not possible here"}})
	case r.Steps == 0 && head.HasEnoughContext != nil && *head.HasEnoughContext && s.whole():
		if on := s.enough(head); on != "" {
			return on
		}
	}
	if len(r.Faults) > 0 {
		return s.faulty(r.Faults)
	}
	before := s.state.Plan
	edited := s.editing()
	s.accept(r.Plan, r.Warnings)
	if s.start.decides() {
		s.state.Fallback = ""
	}
	if edited && sameSteps(before, s.state.Plan) {
		s.unworkable(s.phrase("the model returned the same steps", "模型返回了相同的步骤"))
	}
	return s.finaliser()
}

// declined returns what a draft says instead of applying an edit, or "".
func declined(r *plan.Result, said string) string {
	switch inadequate := r.Head.Adequate != nil && !*r.Head.Adequate; {
	case inadequate || r.Steps == 0:
		return cmp.Or(strings.TrimSpace(said), strings.TrimSpace(r.Head.Thought))
	}
	return ""
}

// sameSteps reports whether two plans have equal steps.
func sameSteps(a, b *events.Plan) bool {
	x, errX := json.Marshal(a.SubJobs)
	y, errY := json.Marshal(b.SubJobs)
	return errX == nil && errY == nil && string(x) == string(y)
}

// phrase returns a sentence in the language of the job: English or Chinese.
func (s *core) phrase(english, chinese string) string {
	if plan.Chinese(s.state.Locale) {
		return chinese
	}
	return english
}

// inadequate handles a draft that says it needs more information: it asks the person or tells them what is missing. If no question is
// left, the valid plan of an earlier round is used; without one, there is no plan.
func (s draftStage) inadequate(said string) On {
	ask := s.start.Profile.Plan.Inadequate == "ask" && s.wants(StageClarify)
	switch {
	case ask && s.start.decides() && (s.start.unattended() || s.state.Assumed):
		return s.missing([]plan.Question{{Prompt: said}})
	case ask && s.state.Counts.Clarify < s.start.Profile.Limits.Clarifications:
		s.state.Question, s.state.Options, s.state.Attempt = said, nil, 0
		return OnUnclear
	case ask:
		s.state.Attempt = 0
		s.state.Faults = events.Faults{{
			Code: events.CodeRejected, Message: clip.Marked(said, maxMessage), Cause: "it was asked for as often as may be", Hint: "say it in the request, and submit that",
		}}
		if s.state.Plan != nil {
			return OnExhausted
		}
		return OnRefused
	}
	s.state.Answer, s.state.Guidance = said, s.start.decides()
	return OnAnswered
}

// enough handles a draft without steps that already has enough context: a plan of one step that writes it up, or its
// thought as the answer.
func (s draftStage) enough(head *events.Plan) On {
	switch thought := strings.TrimSpace(head.Thought); {
	case s.start.Profile.Plan.Enough == "step":
		if p := s.single(thought); p != nil {
			p.HasEnoughContext, p.Thought = head.HasEnoughContext, head.Thought
			s.accept(p, nil)
			return s.finaliser()
		}
	case s.start.Profile.Plan.Enough == "answer" && thought != "":
		s.state.Answer = thought
		return OnAnswered
	}
	return ""
}

// accept stores a valid plan and notes what the draft left out.
func (s *core) accept(p *events.Plan, warnings events.Faults) {
	r := &s.start.Request
	if p.Locale == "" {
		p.Locale = s.state.Locale
	}
	s.state.Locale = p.Locale
	if p.OrigQuery == "" && len(r.Goal) <= plan.MaxText {
		p.OrigQuery = r.Goal
	}
	if p.Title == "" {
		p.Title = s.state.Title
	}
	if s.state.Title == "" { // The title of a conversation is set once.
		s.state.Title = p.Title
	}
	s.state.Plan, s.state.Warnings, s.state.Faults, s.state.Attempt = p, warnings, nil, 0
	s.state.Editing = false
}

// finaliser finds the expert that makes the job's result. Without one the plan is rejected.
func (s *core) finaliser() On {
	card, fault := plan.Finaliser(s.start.Request.Finalize, s.state.Cards)
	if fault != nil {
		s.state.Plan, s.state.Unreachable = nil, true
		s.state.Faults = events.Faults{*fault}
		return OnExhausted
	}
	s.state.Final = card
	s.standIn()
	return OnValid
}

// faulty asks for another draft while an attempt is left.
func (s draftStage) faulty(faults events.Faults) On {
	s.state.Faults = faults
	if s.state.Attempt <= s.start.Profile.Limits.Repairs {
		return OnFaulty
	}
	s.state.Attempt = 0
	return OnExhausted
}

// failed classifies a failed call: another attempt may help, no attempt can help, or the model refused.
func (s draftStage) failed(f *Fact) On {
	switch f.Class {
	case ClassRefusal, ClassFilter:
		s.refused(f)
		if s.editing() {
			s.state.Attempt = 0
			return OnExhausted
		}
		return OnRefused
	case ClassCut, ClassBroken, ClassMalformed:
		return s.faulty(events.Faults{failure(f)})
	case ClassTooLong:
		if !s.state.Short {
			s.state.Short = true
			return s.faulty(events.Faults{failure(f)})
		}
	}
	s.state.Unreachable, s.state.Attempt = true, 0
	s.state.Faults = events.Faults{failure(f)}
	return OnExhausted
}

// refused records that the model or its provider refused.
func (s *core) refused(f *Fact) {
	message := strings.TrimSpace(f.Text)
	switch {
	case f.Class == ClassFilter: // Text written before a filter stopped the answer is not a reason.
		message = "the provider's filter held the answer back"
	case message == "" || strings.ContainsRune("{[`<", rune(message[0])): // Neither is the beginning of a plan.
		message = "the model refuses the request"
	}
	s.state.Faults = events.Faults{{
		Code: events.CodeRejected, Message: clip.Marked(message, maxMessage), Cause: clip.Marked(f.Message, maxMessage), Hint: "ask for something else, or say what it is for",
	}}
}

// failure returns the fault of a failed call.
func failure(f *Fact) events.Fault {
	out := events.Fault{Code: events.CodeUnavailable, Message: "the model could not be asked", Cause: clip.Marked(f.Message, maxMessage)}
	switch f.Class {
	case ClassAuth:
		out.Message, out.Hint = "the model refuses the key", "set the key of its provider (OPENAI_API_KEY, ANTHROPIC_API_KEY …) to a valid one; `jobgraph model check` tries it"
	case ClassQuota:
		out.Message, out.Hint = "the account of the model has no credit left", "add credit, or choose another model"
	case ClassNotFound:
		out.Message, out.Hint = "there is no such model", "name one that the provider has: with --model, in OPENAI_MODEL or in the configuration file"
	case ClassUnnamed:
		out.Message, out.Hint = "no model of this name is configured", "name one of the configured models with --model, or in \"models\" of the request"
	case ClassTooLong:
		out.Code, out.Message, out.Hint = events.CodeTooLarge, "the prompt is too long for the model", "shorten the request, or choose a model with a larger context"
	case ClassBadRequest:
		out.Message, out.Hint = "the model's provider refuses the call", "check the model's settings: `jobgraph model check` says what the model can do"
	case ClassCut:
		out.Code, out.Message, out.Hint = events.CodeMalformed, "the answer was cut off", "write a shorter plan"
	case ClassBroken:
		out.Message, out.Hint = "the connection ended in the middle of the answer", "try again; when it goes on, check the network to the provider"
	case ClassMalformed:
		out.Code, out.Message, out.Hint = events.CodeMalformed, "the provider's reply could not be read", "try again; when it goes on, check the model's address: `jobgraph model check` tries it"
	default:
		out.Hint = "see to its address (OPENAI_BASE_URL, base_url) and the network, try again later, or choose another model"
	}
	return out
}

// malformed returns the fault of a text that contains no plan.
func malformed(text string, err error) events.Fault {
	f := events.Fault{Code: events.CodeMalformed, Message: "no JSON of the wanted form in the answer", Hint: "answer with the JSON object alone"}
	if strings.TrimSpace(text) == "" {
		f.Message = "the answer has no text: the model called a tool, or wrote nothing"
	}
	if err != nil {
		f.Cause = clip.Marked(err.Error(), maxMessage)
	}
	return f
}

// ambiguous returns the fault of a text whose JSON is ambiguous. Nothing is done on a guess.
func ambiguous(e *GuessError) events.Fault {
	return events.Fault{
		Code: events.CodeMalformed, Message: "the JSON in the answer can be read in more than one way", Cause: clip.Marked(e.Place, maxMessage),
		Hint: "write the whole JSON again, valid at that place: quotes around keys and texts, a backslash before each quote inside a text, every comma and bracket",
	}
}

// compact writes a plan as JSON for a prompt; nil yields "".
func compact(p *events.Plan) string {
	if p == nil {
		return ""
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return ""
	}
	return string(raw)
}
