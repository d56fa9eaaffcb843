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
type form struct {
	schema *schema.Schema
	shape  *lenient.Shape
	// careful reports whether a result that can be read in more than one way does not count; nil means that it counts.
	careful func() bool
	// trusted is called with the level of trust of a result; may be nil.
	trusted func(use, trust string)
}

// newForm compiles a JSON Schema; nil accepts any result.
func newForm(raw json.RawMessage) (*form, error) {
	if raw == nil {
		return &form{}, nil
	}
	s, err := schema.Read(raw)
	if err != nil {
		return nil, fmt.Errorf("output_schema: %w", err)
	}
	return &form{schema: s, shape: lenient.ShapeOf(raw)}, nil
}

// read is the conversation.Reader of a form.
func (f *form) read(text string) (json.RawMessage, []string) {
	if f.schema == nil {
		return plain(text)
	}
	raw, doubt, err := f.find(text)
	switch {
	case err == nil && doubt != "":
		return nil, []string{doubt}
	case err == nil:
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

// find finds the result in a text, and says where it is ambiguous.
func (f *form) find(text string) (raw json.RawMessage, doubt string, err error) {
	o := lenient.Options{Tags: []string{deliverable}, Fits: func(v json.RawMessage) bool { return len(f.schema.Misfits(v)) == 0 }}
	if f.careful == nil || !f.careful() {
		raw, _, err = lenient.Read(text, o)
		return raw, "", err
	}
	o.Shape = f.shape
	return examined(text, o, useDeliverable, f.trusted)
}

// examined reads carefully: doubt is set if the JSON can be read in more than one way.
func examined(text string, o lenient.Options, use string, trusted func(use, trust string)) (raw json.RawMessage, doubt string, err error) {
	r, err := lenient.Examine(text, o)
	trust := r.Trust.String()
	switch {
	case err != nil:
		trust = "none"
	case r.Trust == lenient.Guessed:
		doubt = r.Doubt.String()
	}
	if trusted != nil {
		trusted(use, trust)
	}
	return r.JSON, doubt, err
}

// plain reads a result of any form: JSON stays unchanged, other text becomes a string.
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
