package output

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/jobgraph/jobgraph/pkg/drawing"
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
func Quote(text string) string { return QuoteIn(text, 0) }

// QuoteIn is like Quote, with a limited width in columns; 0 means no limit.
func QuoteIn(text string, width int) string {
	const mark = "  │ "
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = Visible(line)
		for room := width - drawing.Width(mark); room > 0 && drawing.Width(line) > room; {
			part := strings.TrimSuffix(drawing.Cut(line, room+1), "…")
			if part == "" || strings.TrimSpace(line) == part {
				break
			}
			lines, line = append(lines, mark+part), line[len(part):]
		}
		lines = append(lines, mark+line)
	}
	return strings.Join(lines, "\n")
}
