package host

import (
	"io"
	"log/slog"
)

// Secret is a text that is never shown: not in a log line, not by fmt, not as JSON or YAML.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String returns the mask.
func (s Secret) String() string { return Mask(string(s)) }

// GoString returns the mask.
func (s Secret) GoString() string { return s.String() }

// LogValue returns the mask.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns the mask, which encoders of JSON and YAML use as well.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// NewLogger returns a logger that writes one event per line, as text or, for format "json", as JSON. Messages are constant;
// variable parts are attributes.
func NewLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
