package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/llm/lenient"
	"github.com/jobgraph/jobgraph/pkg/schema"
)

// deliverable is the tag that a result may stand in.
const deliverable = "deliverable"

// form finds a result in words; schema is nil where any does.
type form struct{ schema *schema.Schema }

// newForm reads a JSON Schema; nil is any form.
func newForm(raw json.RawMessage) (*form, error) {
	if raw == nil {
		return &form{}, nil
	}
	s, err := schema.Read(raw)
	if err != nil {
		return nil, fmt.Errorf("output_schema: %w", err)
	}
	return &form{schema: s}, nil
}

// read is the conversation.Reader of a form.
func (f *form) read(text string) (json.RawMessage, []string) {
	if f.schema == nil {
		return plain(text)
	}
	raw, _, err := lenient.Read(text, lenient.Options{Tags: []string{deliverable}, Fits: func(v json.RawMessage) bool { return len(f.schema.Misfits(v)) == 0 }})
	if err == nil {
		return raw, nil
	}
	if quoted, err := json.Marshal(inTag(text)); err == nil && len(f.schema.Misfits(quoted)) == 0 {
		return quoted, nil // A schema of a text.
	}
	if raw == nil {
		return nil, []string{err.Error()}
	}
	return nil, f.schema.Misfits(raw)
}

// plain is a result of any form: JSON stays what it is, other text becomes a text.
func plain(text string) (json.RawMessage, []string) {
	text = inTag(text)
	if text == "" {
		return nil, []string{"there is nothing in it"}
	}
	if raw := []byte(text); (raw[0] == '{' || raw[0] == '[') && json.Valid(raw) {
		var b bytes.Buffer
		if json.Compact(&b, raw) == nil {
			return b.Bytes(), nil
		}
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return nil, []string{err.Error()}
	}
	return quoted, nil
}

// tagged is the last deliverable of a text; one that is not closed goes to the end.
var tagged = regexp.MustCompile(`(?is)^.*<` + deliverable + `>(.*?)(?:</` + deliverable + `>.*)?$`)

// delivered reports whether a text has a deliverable.
func delivered(text string) bool { return tagged.MatchString(text) }

// inTag is what stands in the tag, or the whole text without one.
func inTag(text string) string {
	if found := tagged.FindStringSubmatch(text); found != nil {
		text = found[1]
	}
	return strings.TrimSpace(text)
}
