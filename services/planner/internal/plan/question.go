package plan

import (
	"fmt"
	"strings"
)

// Question is something that a draft has to know from the person before the request can be planned.
type Question struct {
	// Field names what is missing; Prompt is the question to the person.
	Field  string `json:"field,omitempty"`
	Prompt string `json:"prompt"`
}

// MaxQuestions limits the questions of one draft.
const MaxQuestions = 8

// ask reads the questions of a draft: {"questions":[{"field","prompt"}]}, or with the names that a predecessor's tool uses.
func (d *draft) ask(r reader) {
	name := "questions"
	if !r.has(name) {
		name = "user_input_fields"
	}
	for i, raw := range r.list(name) {
		if i == MaxQuestions {
			return
		}
		q, ok := d.read(raw, fmt.Sprintf("%s[%d]", name, i))
		if !ok {
			continue
		}
		field := firstOf(q.text("field"), q.text("field_name"))
		if prompt := strings.TrimSpace(firstOf(q.text("prompt"), q.text("field_description"), field)); prompt != "" {
			d.questions = append(d.questions, Question{Field: field, Prompt: prompt})
		}
		q.passOver("field_type", "value")
	}
}
