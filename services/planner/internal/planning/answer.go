package planning

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

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

// words maps answers to their meaning. Answers are compared in lower case without surrounding punctuation.
var words = map[string]On{
	"accept": OnAccepted, "accepted": OnAccepted, "approve": OnAccepted, "approved": OnAccepted, "yes": OnAccepted, "y": OnAccepted,
	"ok": OnAccepted, "okay": OnAccepted, "confirm": OnAccepted, "confirmed": OnAccepted, "go": OnAccepted, "go ahead": OnAccepted,
	"proceed": OnAccepted, "continue": OnAccepted, "确认": OnAccepted, "好的": OnAccepted, "好": OnAccepted, "可以": OnAccepted,
	"行": OnAccepted, "同意": OnAccepted, "接受": OnAccepted, "是": OnAccepted,

	"reject": OnRejected, "rejected": OnRejected, "no": OnRejected, "n": OnRejected, "cancel": OnRejected, "decline": OnRejected,
	"stop": OnRejected, "拒绝": OnRejected, "取消": OnRejected, "不": OnRejected, "不行": OnRejected, "不要": OnRejected, "否": OnRejected,
}

// courtesies are words without effect on the meaning; refusals are further words that mean no.
var (
	courtesies = map[string]bool{"please": true, "thanks": true, "thank": true, "you": true, "kindly": true, "sure": true}
	refusals   = map[string]bool{"不同意": true, "不接受": true, "不可以": true, "不好": true, "不确认": true, "不是": true, "不批准": true}
)

// courteous returns the meaning of an answer that consists of a known word and courtesies, or "".
func courteous(text string) On {
	said := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) })
	plain := slices.DeleteFunc(slices.Clone(said), func(word string) bool { return courtesies[word] })
	whole := strings.Join(plain, " ")
	bare := strings.TrimPrefix(strings.TrimSpace(strings.TrimSuffix(whole, "谢谢")), "请")
	switch {
	case whole == "" && slices.Contains(said, "sure"):
		return OnAccepted
	case refusals[bare]:
		return OnRejected
	}
	return words[bare]
}

// understood reads a person's answer. Records of older planners have Courteous unset and accept known words only.
func (s *core) understood(raw json.RawMessage) reply {
	r := understand(raw)
	if r.on == OnUnrecognised && s.start.decides() {
		if on := understandText(withoutNow(r.text)).on; on == OnAccepted {
			return reply{on: on, now: true}
		}
	}
	if r.on == OnUnrecognised && s.start.Courteous {
		if on := courteous(textOf(raw)); on != "" {
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
func understand(raw json.RawMessage) reply {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return understandText(text)
	}
	var yes bool
	if json.Unmarshal(raw, &yes) == nil && len(raw) > 0 && raw[0] != 'n' {
		return decided(&yes, "")
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		if len(list) == 1 {
			return understandText(list[0])
		}
		return reply{on: OnUnrecognised} // A JSON string is not a plan.
	}
	var f form
	whole := plan.Recognised(raw)
	if json.Unmarshal(raw, &f) == nil && (!whole || f.refuses()) {
		return understandForm(&f)
	}
	if whole {
		return reply{on: OnReplaced, plan: raw}
	}
	return reply{on: OnUnrecognised}
}

// refuses reports whether the form says no, whatever else it contains.
func (f *form) refuses() bool {
	return f.Approved != nil && !*f.Approved || f.Accepted != nil && !*f.Accepted || words[f.action()] == OnRejected
}

func (f *form) action() string { return strings.ToLower(strings.TrimSpace(f.Action)) }

func understandForm(f *form) reply {
	text := strings.TrimSpace(strings.Join([]string{f.Text, f.Feedback, f.Reason}, "\n"))
	switch action := f.action(); {
	case f.refuses():
		return reply{on: OnRejected, text: text}
	case len(f.Plan) > 0 && string(f.Plan) != "null":
		return reply{on: OnReplaced, plan: f.Plan}
	case f.Approved != nil:
		return decided(f.Approved, text)
	case f.Accepted != nil:
		return decided(f.Accepted, text)
	case strings.HasPrefix(action, "edit") && text != "":
		return reply{on: OnEdited, text: text}
	case words[action] != "":
		return reply{on: words[action], text: text, now: f.FirstRun == moment.FirstNow}
	case f.Answer != "":
		return understandText(f.Answer)
	case action == "" && text != "":
		return understandText(text)
	}
	return reply{on: OnUnrecognised, text: text}
}

func decided(yes *bool, text string) reply {
	if *yes {
		return reply{on: OnAccepted, text: text}
	}
	return reply{on: OnRejected, text: text}
}

func understandText(text string) reply {
	text = strings.TrimSpace(text)
	if on := words[strings.ToLower(strings.Trim(text, " \t\r\n.!。！[]"))]; on != "" {
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
		if r := understand(raw); r.on != OnUnrecognised {
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
