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

// deliverable is a tag that may enclose a result.
const deliverable = "deliverable"

// form reads results; a nil schema accepts any.
type form struct{ schema *schema.Schema }

// newForm compiles a JSON Schema; nil accepts any result.
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
		return quoted, nil // The schema is that of a string.
	}
	if raw == nil {
		return nil, []string{err.Error()}
	}
	return nil, f.schema.Misfits(raw)
}

// plain reads a result of any form: JSON stays as it is, other text becomes a string.
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

// tagged matches the last deliverable of a text; an unclosed one extends to the end.
var tagged = regexp.MustCompile(`(?is)^.*<` + deliverable + `>(.*?)(?:</` + deliverable + `>.*)?$`)

// delivered reports whether a text contains a deliverable.
func delivered(text string) bool { return tagged.MatchString(text) }

// inTag returns the content of the tag, or the whole text without one.
func inTag(text string) string {
	if found := tagged.FindStringSubmatch(text); found != nil {
		text = found[1]
	}
	return strings.TrimSpace(text)
}
