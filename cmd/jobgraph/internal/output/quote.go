package output

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible returns a text on one line in which every character is visible: characters that a terminal would act on, or not
// show, are written as numbers, line breaks as \n. Nothing is left out.
func Visible(text string) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c == '\n':
			b.WriteString(`\n`)
		case unicode.IsPrint(c):
			b.WriteRune(c)
		case c > 0xFFFF:
			fmt.Fprintf(&b, `\U%08x`, c)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

// Quote returns a foreign text completely, made visible and with a mark before every line, so that no line looks like the
// program's own.
func Quote(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = "  │ " + Visible(lines[i])
	}
	return strings.Join(lines, "\n")
}
