package planning

import (
	"encoding/json"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/events/clip"
)

// verdict is the answer of a triage.
type verdict struct {
	Decision string   `json:"decision"`
	Answer   string   `json:"answer"`
	Query    string   `json:"enriched_query"`
	Locale   string   `json:"locale"`
	Title    string   `json:"title"`
	Question string   `json:"question"`
	Options  []string `json:"options"`
}

// The decisions of a triage.
const (
	decideAnswer  = "answer"
	decideRefuse  = "refuse"
	decideHandOn  = "hand_on"
	decideClarify = "clarify"
)

const triageSchema = `{"type":"object","additionalProperties":false,` +
	`"required":["decision","answer","enriched_query","locale","title","question","options"],"properties":{` +
	`"decision":{"type":"string","enum":["answer","refuse","hand_on","clarify"]},"answer":{"type":["string","null"]},` +
	`"enriched_query":{"type":["string","null"]},"locale":{"type":["string","null"]},"title":{"type":["string","null"]},` +
	`"question":{"type":["string","null"]},"options":{"type":["array","null"],"items":{"type":"string"}}}}`

// triageStage asks a model whether a plan is needed.
type triageStage struct{ *core }

// enter asks whether a plan is needed: once, and again after each clarification while another one may be asked.
func (s triageStage) enter() On {
	c := &s.state.Counts
	limit := s.start.Profile.Limits.Clarifications
	if !s.wants(StageTriage) || c.Draft > 0 || c.Triage > limit || c.Triage > 0 && c.Clarify >= limit {
		return OnSkipped
	}
	prompt, ok := s.render("triage")
	if !ok {
		return OnUnusable
	}
	c.Triage++
	return s.issue(c.Triage, Command{Kind: Call, Call: &ModelCall{
		Role: "triage", Messages: messages(prompt), Schema: json.RawMessage(triageSchema), Name: "triage", Strict: true,
	}})
}

func (s triageStage) take(f *Fact) On {
	if f.Kind == Failed {
		return s.failed(f)
	}
	s.state.Raw = f.Text
	raw, err := s.ports.Read(f.Text, &Wanted{Use: "triage", Fits: isVerdict, Schema: json.RawMessage(triageSchema), Careful: s.start.Careful})
	var v verdict
	if err != nil || json.Unmarshal(raw, &v) != nil {
		return s.unreadable(f.Text)
	}
	if v.Locale = strings.TrimSpace(v.Locale); validLocale(v.Locale) && s.start.Request.Locale == "" {
		s.state.Locale = v.Locale
	}
	if s.state.Title == "" {
		s.state.Title = clip.Marked(strings.TrimSpace(v.Title), maxTitle)
	}
	return s.judged(&v)
}

// judged acts on a verdict. A verdict without the text that its decision requires counts as none.
func (s triageStage) judged(v *verdict) On {
	switch decision(v.Decision) {
	case decideAnswer:
		if strings.TrimSpace(v.Answer) != "" {
			s.state.Answer = v.Answer
			return OnAnswered
		}
	case decideRefuse:
		message := strings.TrimSpace(v.Answer)
		if message == "" {
			message = "the request was refused"
		}
		s.state.Faults = events.Faults{{Code: events.CodeRejected, Message: clip.Marked(message, maxMessage), Hint: "ask for something else, or say what it is for"}}
		return OnRefused
	case decideClarify:
		if s.start.Profile.Triage.Direct {
			return OnHanded
		}
		if s.state.Question = strings.TrimSpace(v.Question); s.state.Question != "" {
			s.state.Options = v.Options
			return OnUnclear
		}
	case decideHandOn:
		s.enrich(v.Query)
		return OnHanded
	}
	return OnUnusable
}

// enrich replaces the request by a better wording that includes the person's answers to questions about it.
func (s triageStage) enrich(query string) {
	if query = strings.TrimSpace(query); query != "" && len(query) <= maxQuery {
		s.state.Query = query
	}
}

// decision maps the words of models and of predecessor systems to the four decisions.
func decision(word string) string {
	switch word = strings.ToLower(strings.TrimSpace(word)); word {
	case "handoff_to_planner", "hand_to_planner", "handoff", "hand_off", "plan", "handoff_after_clarification":
		return decideHandOn
	case "direct_response", "respond", "reply":
		return decideAnswer
	case "reject", "refusal", "decline":
		return decideRefuse
	case "ask", "clarification", "unclear":
		return decideClarify
	}
	return word
}

// isVerdict accepts an object with a decision.
func isVerdict(raw json.RawMessage) bool {
	var v verdict
	return json.Unmarshal(raw, &v) == nil && v.Decision != ""
}

// failed continues with planning; only a refusal ends it.
func (s triageStage) failed(f *Fact) On {
	if f.Class == ClassRefusal || f.Class == ClassFilter {
		s.refused(f)
		return OnRefused
	}
	return OnUnusable
}

// unreadable does what the profile says about a triage without a verdict.
func (s triageStage) unreadable(text string) On {
	text = strings.TrimSpace(text)
	switch s.start.Profile.Triage.Unreadable {
	case "answer":
		if text != "" && !strings.ContainsAny(text, "{[") {
			s.state.Answer = text
			return OnAnswered
		}
	case "guidance":
		s.state.Faults = events.Faults{malformed(text, nil)}
		prompt, ok := s.render("guidance")
		switch {
		case ok && s.start.decides(): // The model failed; its text is not an answer.
			s.state.Faults[0].Message = clip.Marked(strings.TrimSpace(prompt.User), maxPrompt)
			return OnRefused
		case ok:
			s.state.Answer, s.state.Faults = prompt.User, nil
			return OnAnswered
		}
	}
	return OnUnusable
}
