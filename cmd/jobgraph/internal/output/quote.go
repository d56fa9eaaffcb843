package output

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible is a text in one line in which every character can be seen: what a terminal would obey, or not show, is written as
// its number, a line break as \n. Nothing is left out.
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

// Quote is a foreign text, whole and as Visible, every line of it behind a mark: none of them passes for one that the
// program says itself.
func Quote(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = "  │ " + Visible(lines[i])
	}
	return strings.Join(lines, "\n")
}
