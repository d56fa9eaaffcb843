package picture

import (
	"strings"
	"unicode"
)

// OneLine makes a text safe to be shown in a line: whatever a terminal would obey in place of showing it is a space.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if Obeyed(r) {
			return ' '
		}
		return r
	}, text)
}

// Obeyed reports whether a terminal acts on a character in place of showing it: control characters, line breaks among them, and
// those that turn around the direction of what is written.
func Obeyed(r rune) bool {
	return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}
