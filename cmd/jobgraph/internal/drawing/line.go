package drawing

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
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

// Width is how many columns of a terminal a text takes: wide characters take two, combining ones none.
func Width(text string) int { return uniseg.StringWidth(text) }

// Cut shortens a text to at most so many columns, with an ellipsis in place of what is left out. No character is divided.
func Cut(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	if columns < 1 {
		return ""
	}
	kept, used := 0, 0
	for rest, state := text, -1; rest != ""; {
		var cluster string
		var width int
		cluster, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used+width > columns-1 {
			break
		}
		kept, used = kept+len(cluster), used+width
	}
	return text[:kept] + "…"
}

// Pad fills a text with spaces up to so many columns.
func Pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-Width(text)))
}
