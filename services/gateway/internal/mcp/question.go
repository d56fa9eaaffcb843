package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jobgraph/jobgraph/pkg/events"
	"github.com/jobgraph/jobgraph/pkg/schema"
	"github.com/jobgraph/jobgraph/pkg/verb"
)

// answerField is the only field of a form for a question that is not a form itself.
const answerField = "answer"

// asks returns the questions, by id, that the client of a request can put to its person and that this person may answer.
func (s *Server) asks(ctx context.Context, r sdk.Request, out *verb.Waited) sdk.InputRequestMap {
	can := capabilities(r).Elicitation
	if can == nil || can.Form == nil && can.URL != nil {
		return nil
	}
	asks := sdk.InputRequestMap{}
	for i := range out.Inputs {
		if q := &out.Inputs[i]; s.Door.MayAnswer(who(ctx), q) {
			asks[q.Request] = formOf(q)
		}
	}
	return asks
}

// formOf turns a question into a form. Forms can have only fields with plain values; anything else is requested as JSON in a text
// field.
func formOf(q *verb.Question) *sdk.ElicitParams {
	p := &sdk.ElicitParams{Mode: "form", Message: q.Prompt}
	if p.Message == "" {
		p.Message = "Job " + q.JobID + " asks for input (" + string(q.Kind) + ")."
	}
	field := object{"type": "string", "minLength": 1}
	switch {
	case q.Kind == events.InputApproval:
		p.RequestedSchema = object{
			"type": "object", "required": []string{"approved"},
			"properties": object{"approved": object{"type": "boolean", "title": "Approve"}, "reason": object{"type": "string", "title": "Reason"}},
		}
		return p
	case flat(q.Schema):
		p.RequestedSchema = q.Schema
		return p
	case structuredOnly(q):
		field["description"] = "JSON that fits this schema: " + string(q.Schema)
	case len(q.Options) > 0 && !q.Open && q.Kind != events.InputReview:
		field = object{"type": "string", "enum": q.Options}
	case len(q.Options) > 0:
		field["description"] = strings.Join(q.Options, ", ") + ", or other words"
	}
	field["title"] = "Answer"
	p.RequestedSchema = object{"type": "object", "required": []string{answerField}, "properties": object{answerField: field}}
	return p
}

// structuredOnly reports whether an answer must be JSON: neither free text nor a choice is accepted.
func structuredOnly(q *verb.Question) bool { return len(q.Schema) > 0 && len(q.Options) == 0 }

// flat reports whether a schema is an object with plain values, which every client can show.
func flat(text json.RawMessage) bool {
	var s struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &s) != nil || json.Unmarshal(text, &all) != nil || s.Type != "object" || len(s.Properties) == 0 {
		return false
	}
	for key := range all { // any order: each is checked by itself.
		if !slices.Contains([]string{"$schema", "type", "title", "description", "properties", "required", "additionalProperties"}, key) {
			return false
		}
	}
	for _, p := range s.Properties { // any order: each is checked by itself.
		if !plain(p) {
			return false
		}
	}
	return true
}

// plain reports whether forms may have a field with this schema.
func plain(text json.RawMessage) bool {
	var p map[string]json.RawMessage
	var kind string
	if json.Unmarshal(text, &p) != nil || json.Unmarshal(p["type"], &kind) != nil {
		return false
	}
	may := []string{"type", "title", "description", "default"}
	switch kind {
	case "string":
		may = append(may, "enum", "minLength", "maxLength", "format")
		if format := p["format"]; format != nil && !slices.Contains([]string{`"email"`, `"uri"`, `"date"`, `"date-time"`}, string(format)) {
			return false
		}
	case "number", "integer":
		may = append(may, "minimum", "maximum")
	case "boolean":
	default:
		return false
	}
	for key := range p { // any order: each is checked by itself.
		if !slices.Contains(may, key) {
			return false
		}
	}
	return true
}

// deliver sends a person's answers to the open questions of a job. It returns the questions that were answered, and whether the
// person left one open. An answer that does not fit leaves its question open. Answers to questions that are not open are ignored,
// since the protocol repeats them.
func (s *Server) deliver(ctx context.Context, job string, given sdk.InputResponseMap) (answered []string, open bool, err error) {
	if len(given) == 0 {
		return nil, false, nil
	}
	text, err := s.Door.Do(ctx, who(ctx), "inputs", verb.OpenInputs{ID: job})
	if err != nil {
		return nil, false, err
	}
	var list verb.Questions
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, false, err
	}
	for i := range list.Inputs {
		q := &list.Inputs[i]
		response, ok := given[q.Request]
		if !ok {
			continue
		}
		result, ok := response.(*sdk.ElicitResult)
		if !ok || result.Action != "accept" {
			open = true
			continue
		}
		answer, err := answerOf(q, result.Content)
		if err != nil {
			return answered, open, err
		}
		if _, err := s.Door.Do(ctx, who(ctx), "answer", verb.Answer{Ref: verb.Ref{ID: job}, Request: q.Request, Answer: answer}); err != nil {
			return answered, open, err
		}
		answered = append(answered, q.Request)
	}
	return answered, open, nil
}

// answerOf returns the answer to a question from the fields of its form.
func answerOf(q *verb.Question, content map[string]any) (json.RawMessage, error) {
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	wanted, err := json.Marshal(formOf(q).RequestedSchema)
	if err != nil {
		return nil, err
	}
	if err := fits(q, wanted, text); err != nil {
		return nil, err
	}
	if q.Kind == events.InputApproval || flat(q.Schema) {
		return text, nil
	}
	said, _ := content[answerField].(string)
	if !structuredOnly(q) {
		return json.Marshal(said)
	}
	text = bytes.TrimSpace([]byte(said))
	return text, fits(q, q.Schema, text)
}

// fits returns an error if a value does not match a schema.
func fits(q *verb.Question, wanted, value json.RawMessage) error {
	s, err := schema.Read(wanted)
	if err != nil {
		return nil // The expert that asked has to judge the answer.
	}
	misfits := s.Misfits(value)
	if len(misfits) == 0 {
		return nil
	}
	return &events.Fault{
		Code: events.CodeInvalid, Field: q.Request, Message: "the answer does not fit its form: " + strings.Join(misfits, "; "),
		Hint: "the question is still open: wait again, or send the answer with the tool answer",
	}
}
