package host

import (
	"io"
	"log/slog"
)

// Secret is a text that never shows itself: not in a log line, not through fmt, not as JSON or YAML.
type Secret string

// Reveal is the text itself.
func (s Secret) Reveal() string { return string(s) }

// String is the mask.
func (s Secret) String() string { return Mask(string(s)) }

// GoString is the mask.
func (s Secret) GoString() string { return s.String() }

// LogValue is the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText is the mask; encoders of JSON and YAML use it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// NewLogger writes one event per line, as text or, for format "json", as JSON. Messages are constants; what varies
// goes into fields.
func NewLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
