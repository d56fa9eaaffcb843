package planning

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events/consent"
	"github.com/jobgraph/jobgraph/pkg/events/moment"
	"github.com/jobgraph/jobgraph/services/planner/internal/plan"
)

// reply is the meaning of a person's answer to a question about a plan.
type reply struct {
	on   On
	text string          // The change they want, or the reason why they refuse.
	now  bool            // They accept a schedule and want its first run at once.
	plan json.RawMessage // A plan of their own.
}

// form is an answer given as an object, with our field names and those of predecessor systems.
type form struct {
	Action   string          `json:"action"`
	Approved *bool           `json:"approved"`
	Accepted *bool           `json:"accepted"`
	Text     string          `json:"text"`
	Reason   string          `json:"reason"`
	Feedback string          `json:"feedback"`
	Answer   string          `json:"answer"`
	Plan     json.RawMessage `json:"plan"`
	FirstRun string          `json:"first_run"`
}

// on returns the meaning of a text that accepts or rejects, or "".
func (t *Start) on(text string) On {
	if !t.knew(text) {
		return ""
	}
	return map[consent.Decision]On{consent.Accepted: OnAccepted, consent.Rejected: OnRejected}[consent.Of(text)]
}

// knew reports whether the planner that recorded t knew the words of a text. Before version 2 of the decisions a text had to be one
// word, with courtesies around it in records that allow them.
func (t *Start) knew(text string) bool {
	if t.Decisions >= 2 {
		return true
	}
	words, _ := consent.Words(text)
	phrase := strings.Join(words, " ")
	if len(words) > 1 && phrase != "go ahead" || slices.Contains([]string{"agree", "agreed", "nope", "refuse", "批准"}, phrase) {
		return false
	}
	polite := []string{"不同意", "不接受", "不可以", "不好", "不确认", "不是", "不批准"}
	return t.Courteous || strings.ToLower(strings.Trim(text, " \t\r\n.!。！[]")) == phrase && !slices.Contains(polite, phrase)
}

// understood reads a person's answer.
func (s *core) understood(raw json.RawMessage) reply {
	r := s.start.understand(raw)
	if r.on == OnUnrecognised && s.start.decides() {
		if s.start.understandText(withoutNow(r.text)).on == OnAccepted {
			return reply{on: OnAccepted, now: true}
		}
	}
	if r.on == OnUnrecognised && s.start.Courteous {
		if on := s.start.on(textOf(raw)); on != "" {
			return reply{on: on}
		}
	}
	return r
}

// withoutNow removes a final "now" from an answer; "" if there is none.
func withoutNow(text string) string {
	text = strings.TrimRight(text, " \t\r\n.!。！")
	for _, word := range []string{"now", "at once", "现在", "立即"} {
		if n := len(text) - len(word); n > 0 && strings.EqualFold(text[n:], word) {
			return strings.TrimRight(text[:n], " ,，、")
		}
	}
	return ""
}

// edits are the prefixes of an answer that asks for a change: "[edit] …" or "edit: …".
var edits = []string{"edit_plan", "edit plan", "edit", "修改计划", "修改"}

// understand reads an answer in any of its forms: a word, "[ACCEPTED]", "[EDIT_PLAN] what", "edit: what", an object with an
// action, or a plan.
func (t *Start) understand(raw json.RawMessage) reply {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return t.understandText(text)
	}
	var yes bool
	if json.Unmarshal(raw, &yes) == nil && len(raw) > 0 && raw[0] != 'n' {
		return decided(&yes, "")
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		if len(list) == 1 {
			return t.understandText(list[0])
		}
		return reply{on: OnUnrecognised} // A JSON string is not a plan.
	}
	var f form
	whole := plan.Recognised(raw)
	if json.Unmarshal(raw, &f) == nil && (!whole || t.refused(&f)) {
		return t.understandForm(&f)
	}
	if whole {
		return reply{on: OnReplaced, plan: raw}
	}
	return reply{on: OnUnrecognised}
}

// refused reports whether a form says no, whatever else it contains.
func (t *Start) refused(f *form) bool {
	return f.Approved != nil && !*f.Approved || f.Accepted != nil && !*f.Accepted || t.on(f.Action) == OnRejected
}

func (t *Start) understandForm(f *form) reply {
	text := strings.TrimSpace(strings.Join([]string{f.Text, f.Feedback, f.Reason}, "\n"))
	switch action := strings.ToLower(strings.TrimSpace(f.Action)); {
	case t.refused(f):
		return reply{on: OnRejected, text: text}
	case len(f.Plan) > 0 && string(f.Plan) != "null":
		return reply{on: OnReplaced, plan: f.Plan}
	case f.Approved != nil:
		return decided(f.Approved, text)
	case f.Accepted != nil:
		return decided(f.Accepted, text)
	case strings.HasPrefix(action, "edit") && text != "":
		return reply{on: OnEdited, text: text}
	case t.on(action) != "":
		return reply{on: t.on(action), text: text, now: f.FirstRun == moment.FirstNow}
	case f.Answer != "":
		return t.understandText(f.Answer)
	case action == "" && text != "":
		return t.understandText(text)
	}
	return reply{on: OnUnrecognised, text: text}
}

func decided(yes *bool, text string) reply {
	if *yes {
		return reply{on: OnAccepted, text: text}
	}
	return reply{on: OnRejected, text: text}
}

func (t *Start) understandText(text string) reply {
	text = strings.TrimSpace(text)
	if on := t.on(text); on != "" {
		return reply{on: on}
	}
	if _, ok := cutFold(text, "[accepted]"); ok {
		return reply{on: OnAccepted}
	}
	for _, word := range edits {
		for _, front := range []string{"[" + word + "]", word + ":", word + "："} {
			if rest, ok := cutFold(text, front); ok && strings.TrimSpace(rest) != "" {
				return reply{on: OnEdited, text: strings.TrimSpace(rest)}
			}
		}
	}
	if raw := []byte(text); json.Valid(raw) && (raw[0] == '{' || raw[0] == '[') {
		if r := t.understand(raw); r.on != OnUnrecognised {
			return r
		}
	}
	return reply{on: OnUnrecognised, text: text}
}

// cutFold removes a prefix, ignoring case. It cuts the original text, since the lower-case form may have another length.
func cutFold(text, prefix string) (rest string, ok bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// textOf returns the text of an answer: a string, or the text field of an object.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(text)
	}
	var f form
	if json.Unmarshal(raw, &f) == nil {
		for _, text := range []string{f.Answer, f.Text, f.Feedback, f.Reason} {
			if strings.TrimSpace(text) != "" {
				return strings.TrimSpace(text)
			}
		}
	}
	if len(raw) > 0 && raw[0] != '{' && string(raw) != "null" {
		return strings.TrimSpace(string(raw))
	}
	return ""
}
