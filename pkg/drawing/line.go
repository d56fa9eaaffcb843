package drawing

import (
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// OneLine makes a text safe to print in a line: characters that a terminal would act on become spaces.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if Obeyed(r) {
			return ' '
		}
		return r
	}, text)
}

// Obeyed reports whether a terminal acts on a character instead of showing it: control characters, including line breaks,
// and characters that change the direction of text.
func Obeyed(r rune) bool {
	return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// Width returns how many columns a text takes: wide characters take two, combining ones none.
func Width(text string) int { return uniseg.StringWidth(text) }

// Cut shortens a text to a number of columns, with an ellipsis for the rest. It splits no character.
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

// Pad fills a text with spaces to a number of columns.
func Pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-Width(text)))
}
