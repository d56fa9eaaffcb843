package llm

import (
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"

	"github.com/jobgraph/jobgraph/pkg/events/clip"
	"github.com/jobgraph/jobgraph/pkg/redact"
)

// Secret is a key. Printed, logged or encoded in any way, it shows only whether it is set.
type Secret string

// String hides the key.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redact.Mask
}

// GoString hides the key.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the key.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON hides the key.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalYAML hides the key.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// keyForm matches keys of known providers, completely or partly masked, and what follows the word Bearer.
var keyForm = regexp.MustCompile(`\b(?:sk|pk|rk|key|gsk|xai|hf|pplx)[-_][A-Za-z0-9*_\-.]{8,}|\bAIza[A-Za-z0-9_\-]{20,}|(?i:bearer)\s+[^\s"',;]+`)

// Mask removes secrets, and everything that looks like a key, from a text for people.
func Mask(text string, r *redact.Redactor) string {
	return keyForm.ReplaceAllString(r.Text(text), redact.Mask)
}

// maxMessage limits the length of a provider's message in bytes.
const maxMessage = 2000

// excerpt makes a provider's message fit for an error: without secrets, valid UTF-8, and not too long.
func excerpt(text string, r *redact.Redactor) string {
	const enough = 16 * maxMessage
	text = strings.TrimSpace(text)
	if len(text) > enough {
		text = r.Stream(false).Feed(text[:enough]) // Also removes the part of a secret that the cut may have left.
	}
	return clip.Marked(Mask(strings.ToValidUTF8(text, "�"), r), maxMessage)
}
