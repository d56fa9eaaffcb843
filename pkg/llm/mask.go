package llm

import (
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Secret is a key. However it is printed, logged or encoded, it shows only that there is one.
type Secret string

// hidden stands where a key was.
const hidden = "********"

// String hides the key.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the key.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the key.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON hides the key.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalYAML hides the key.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// keyForm is what keys of the known providers look like, whole or with a part of them starred out, and what follows the
// word Bearer.
var keyForm = regexp.MustCompile(`\b(?:sk|pk|rk|key|gsk|xai|hf|pplx)[-_][A-Za-z0-9*_\-.]{8,}|\bAIza[A-Za-z0-9_\-]{20,}|(?i:bearer)\s+[^\s"',;]+`)

// Mask takes keys out of a text: the given ones, and whatever looks like one.
func Mask(text string, secrets ...Secret) string {
	for _, secret := range secrets {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, string(secret), hidden)
		}
	}
	return keyForm.ReplaceAllString(text, hidden)
}

// maxMessage bounds what is kept of a provider's words.
const maxMessage = 2000

// excerpt makes a provider's words fit for an error: masked, valid, and not too long.
func excerpt(text string, secrets ...Secret) string {
	const enough = 16 * maxMessage
	whole := len(text) <= enough
	text = Mask(strings.ToValidUTF8(strings.TrimSpace(text[:min(len(text), enough)]), "�"), secrets...)
	if !whole {
		for _, secret := range secrets {
			text = text[:max(0, len(text)-len(secret))] // What the cut has left of a key was not recognised.
		}
		text = strings.ToValidUTF8(text, "")
	}
	if len(text) <= maxMessage {
		return text
	}
	end := maxMessage
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
